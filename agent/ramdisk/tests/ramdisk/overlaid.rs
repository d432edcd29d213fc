//! The boot server presents agent.iso to each machine with parameters of its own: its overlay must understand the ISO.

use std::sync::Arc;

use beskar7_boot::overlay::Image;
use beskar7_boot::source::{Source as _, read};
use bytes::Bytes;

use crate::workshop::Workshop;

const ENTRY: &str = "efiboot.img:loader/entries/agent.conf";

/// The ISO with parameters, as a machine would read it.
async fn presented(iso: &Bytes, parameters: &[String]) -> (Vec<String>, Vec<String>, Bytes) {
    let image = Image::inspect(iso).await.unwrap();
    let overlay = image.with_arguments(parameters).unwrap();
    let changed = overlay.changed_files().to_vec();
    let places = overlay.loader_configuration().to_vec();
    let overlaid = Arc::new(overlay).over(Arc::new(iso.clone()));
    let mut entries = Vec::new();
    for place in places {
        entries.push(String::from_utf8_lossy(&read(&overlaid, place).await.unwrap()).into_owned());
    }
    let all = read(&overlaid, 0..overlaid.length()).await.unwrap();
    (changed, entries, all)
}

#[tokio::test]
async fn a_machine_s_parameters_stand_in_the_entry() {
    let workshop = Workshop::new();
    workshop.make(&["--options", "console=ttyS0"]);
    let iso = Bytes::from(std::fs::read(workshop.at("out/agent.iso")).unwrap());
    let url = "beskar7.url=http://192.0.2.1:8082/c/capability/".to_owned();
    for parameters in [vec![url.clone()], vec![url, format!("long={}", "0".repeat(3000))]] {
        let (changed, entries, all) = presented(&iso, &parameters).await;
        assert_eq!(changed, [ENTRY]);
        let expected = format!("options console=ttyS0 {}\n", parameters.join(" "));
        assert!(entries.concat().contains(&expected), "{entries:?}");
        // What was presented is again an ISO with this entry, and all of it can be added to again.
        let (changed, entries, _) = presented(&all, &["again=1".to_owned()]).await;
        assert_eq!(changed, [ENTRY]);
        assert!(entries.concat().contains(&format!("{} again=1\n", parameters.join(" "))), "{entries:?}");
        // There are free clusters for more, so that the ISO stays as long as it is.
        assert_eq!(all.len(), iso.len());
    }
}
