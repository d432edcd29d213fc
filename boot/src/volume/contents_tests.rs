use serde_json::Value;

use super::*;
use crate::delivery::MetaData;

fn configuration() -> Configuration {
    let meta_data = MetaData {
        instance_id: "0f2e \"x\": y".to_owned(),
        hostname: "node-1".to_owned(),
        provider_id: "b7://metal/h".to_owned(),
        zone: None,
        host: "h".to_owned(),
        namespace: "metal".to_owned(),
        cluster: None,
        uuid: None,
        phone_home_url: "http://b/home".to_owned(),
        more: Default::default(),
    };
    Configuration {
        user_data: "#cloud-config\nruncmd: [kubeadm join --token s3cret]\n".into(),
        meta_data,
        network_config: Some("version: 2\n".into()),
    }
}

fn content<'a>(files: &'a [File<'_>], path: &str) -> &'a [u8] {
    &files.iter().find(|file| file.path == path).unwrap().content
}

#[test]
fn cidata_has_what_nocloud_reads() {
    let files = Format::Cidata.files(&configuration());
    let paths: Vec<&str> = files.iter().map(|file| file.path).collect();
    assert_eq!(paths, ["user-data", "meta-data", "vendor-data", "network-config"]);
    assert_eq!(content(&files, "user-data"), configuration().user_data);
    assert_eq!(content(&files, "network-config"), b"version: 2\n");
    let meta_data = String::from_utf8_lossy(content(&files, "meta-data")).into_owned();
    assert!(
        meta_data.starts_with("instance-id: \"0f2e \\\"x\\\": y\"\nlocal-hostname: \"node-1\"\n"),
        "{meta_data}"
    );
    let bare = Configuration { network_config: None, ..configuration() };
    assert_eq!(Format::Cidata.files(&bare).len(), 3);
}

#[test]
fn config_2_has_what_a_config_drive_has_and_no_network() {
    let files = Format::Config2.files(&configuration());
    let paths: Vec<&str> = files.iter().map(|file| file.path).collect();
    assert_eq!(
        paths,
        ["meta_data.json", "user_data", "vendor_data.json"].map(|name| format!("openstack/latest/{name}"))
    );
    let read = |name: &str| -> Value {
        serde_json::from_slice(content(&files, &format!("openstack/latest/{name}"))).unwrap()
    };
    let meta_data = read("meta_data.json");
    assert_eq!(meta_data["uuid"], "0f2e \"x\": y");
    assert_eq!((&meta_data["hostname"], &meta_data["name"]), (&"node-1".into(), &"node-1".into()));
    assert_eq!(meta_data["provider_id"], "b7://metal/h");
    let vendor = read("vendor_data.json");
    assert!(vendor["cloud-init"].as_str().unwrap().contains("phone_home"), "{vendor}");
    assert_eq!(content(&files, "openstack/latest/user_data"), configuration().user_data);
    assert!(Format::Cidata.holds_network_config() && !Format::Config2.holds_network_config());
}

#[test]
fn config_2_tells_what_cidata_tells() {
    let mut told = configuration();
    let meta_data = &mut told.meta_data;
    meta_data.zone = Some("rack-1".to_owned());
    meta_data.cluster = Some("edge".to_owned());
    meta_data.uuid = Some("38947555-7742-3448-3784-823347823834".to_owned());
    let read = |told: &Configuration| -> Value {
        serde_json::from_slice(content(&Format::Config2.files(told), "openstack/latest/meta_data.json"))
            .unwrap()
    };
    let about = read(&told);
    for (name, value) in form::fields(&told.meta_data) {
        let expected = if name == "uuid" { "0f2e \"x\": y".into() } else { value };
        assert_eq!(about[name], expected, "{name}");
    }
    for (theirs, ours) in [("local-hostname", "hostname"), ("instance-id", "uuid")] {
        let mut more = told.clone();
        more.meta_data.more.insert(theirs.to_owned(), "mine".into());
        assert_eq!(read(&more)[ours], "mine", "{ours}");
        more.meta_data.more.insert(ours.to_owned(), "mine by that name".into());
        assert_eq!(read(&more)[ours], "mine by that name", "{ours}");
    }
    let absent = read(&configuration());
    assert_eq!((absent.get("zone"), absent.get("cluster")), (None, None), "and no null in their place");
}

#[test]
fn user_data_may_be_any_bytes() {
    let binary = Bytes::from_static(&[0x1f, 0x8b, 0xff, 0]);
    let packed = Configuration { user_data: binary.clone(), ..configuration() };
    for format in [Format::Cidata, Format::Config2] {
        assert!(format.files(&packed).iter().any(|file| file.content == binary));
    }
}

#[test]
fn nothing_of_a_configuration_is_shown() {
    let shown = format!("{:?} {:?}", configuration(), Format::Cidata.files(&configuration()));
    assert!(shown.contains("node-1") && !shown.contains("s3cret"), "{shown}");
    let large = Configuration { user_data: vec![b'x'; 65 << 20].into(), ..configuration() };
    let error = Format::Cidata.volume(&large).unwrap_err().to_string();
    assert!(error.contains("too large") && !error.contains("xxx"), "{error}");
}
