//! A second image beside the one that the machine boots from.

use axum::http::Method;
use beskar7_redfish::Error;
use serde_json::{Value, json};

use crate::scripted::*;

const SYSTEM_MEDIA: &str = "/redfish/v1/Systems/1/VirtualMedia";
const MANAGER_MEDIA: &str = "/redfish/v1/Managers/1/VirtualMedia";
const VOLUME: &str = "http://127.0.0.1:9/config.iso";

/// Slots in the order in which they are listed, each with its types.
type Slots<'a> = [(&'a str, &'a [&'a str])];

fn slots(tree: &mut Tree, media: &str, slots: &Slots<'_>) {
    let paths: Vec<String> = slots.iter().map(|(id, _)| format!("{media}/{id}")).collect();
    tree.insert(media.into(), collection(&paths.iter().map(String::as_str).collect::<Vec<_>>()));
    for (path, (_, types)) in paths.iter().zip(slots) {
        tree.insert(path.clone(), slot(path, types));
    }
}

/// The same under the manager.
fn manager_slots(tree: &mut Tree, of_manager: &Slots<'_>) {
    tree.get_mut("/redfish/v1/Managers/1").unwrap()["VirtualMedia"] = json!({ "@odata.id": MANAGER_MEDIA });
    slots(tree, MANAGER_MEDIA, of_manager);
}

/// Inserts both images, and says which slots they went into.
async fn both(scripted: &Scripted) -> Result<[String; 2], Error> {
    let bmc = scripted.bmc();
    let system = bmc.system(None).await?;
    let boot = bmc.insert(&system, ISO, LIMIT).await?;
    let volume = bmc.insert_beside(&system, VOLUME, &boot, LIMIT).await?;
    Ok([boot, volume].map(|slot| slot.path().rsplit_once('/').unwrap().1.to_owned()))
}

fn images(scripted: &Scripted, paths: &[&str]) -> Vec<Value> {
    paths.iter().map(|path| scripted.now(path, "/Image")).collect()
}

#[tokio::test]
async fn a_second_image_goes_into_the_best_other_slot() {
    let table: [(&Slots<'_>, [&str; 2]); 4] = [
        (&[("1", &["Floppy", "USBStick"]), ("2", &["CD", "DVD"])], ["2", "1"]),
        (&[("USB2", &["CD", "USBStick"]), ("USB1", &["CD", "USBStick"])], ["USB2", "USB1"]),
        (&[("U", &["USBStick"]), ("Silent", &[]), ("D", &["DVD"]), ("C", &["CD"])], ["C", "D"]),
        (&[("U", &["USBStick"]), ("F", &["Floppy"]), ("Silent", &[])], ["Silent", "U"]),
    ];
    for (there, expected) in table {
        let scripted = Scripted::with_tree(|tree| slots(tree, SYSTEM_MEDIA, there)).await;
        assert_eq!(both(&scripted).await.unwrap(), expected, "{there:?}");
        let changes = scripted.changes().len();
        assert_eq!(both(&scripted).await.unwrap(), expected, "{there:?}");
        assert_eq!(scripted.changes().len(), changes, "both were there already");
        let paths = expected.map(|id| format!("{SYSTEM_MEDIA}/{id}"));
        assert_eq!(images(&scripted, &[&paths[0], &paths[1]]), [ISO, VOLUME]);
        let bmc = scripted.bmc();
        bmc.eject_all(&bmc.system(None).await.unwrap(), LIMIT).await.unwrap();
        assert_eq!(images(&scripted, &[&paths[0], &paths[1]]), [Value::Null, Value::Null]);
    }
}

#[tokio::test]
async fn one_drive_has_no_place_for_a_second_image() {
    let scripted = Scripted::plain().await;
    let error = both(&scripted).await.unwrap_err();
    assert!(matches!(error, Error::SecondImageRefused { .. }), "{error}");
    for words in ["one virtual drive", "RemoteConfig", "a host whose BMC has two"] {
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    assert_eq!(scripted.now(SLOT, "/Image"), ISO, "what it boots from stays");
}

#[tokio::test]
async fn other_drives_that_refuse_leave_no_place_either() {
    // Dell's RemovableDisk takes files that end in .img; Lenovo's Remote1 takes none.
    let scripted = Scripted::new(
        |tree| slots(tree, SYSTEM_MEDIA, &[("CD", &["CD"]), ("RemovableDisk", &["USBStick"])]),
        |asked, _| {
            (asked.method == Method::POST && asked.path.contains("RemovableDisk"))
                .then(|| Reply::refusal(400, "RAC0722", "the file type is not supported"))
        },
    )
    .await;
    let error = both(&scripted).await.unwrap_err();
    for words in ["the file type is not supported", "RemoteConfig"] {
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    assert_eq!(scripted.now(&format!("{SYSTEM_MEDIA}/CD"), "/Image"), ISO);
}

#[tokio::test]
async fn a_drive_that_is_listed_twice_is_no_second_one() {
    // By the same name: the answers of the two are not even alike at once.
    let same_name = Scripted::with_tree(|tree| {
        slots(tree, SYSTEM_MEDIA, &[("EXT1", &["CD"])]);
        manager_slots(tree, &[("EXT1", &["CD"]), ("EXT2", &["CD"])]);
    })
    .await;
    assert_eq!(both(&same_name).await.unwrap(), ["EXT1", "EXT2"]);
    assert_eq!(same_name.now(&format!("{MANAGER_MEDIA}/EXT1"), "/Image"), Value::Null, "left alone");

    // By another name, with the same image.
    let same_image = Scripted::new(
        |tree| {
            slots(tree, SYSTEM_MEDIA, &[("1", &["CD"])]);
            manager_slots(tree, &[("CD", &["CD"]), ("RemovableDisk", &["USBStick"])]);
        },
        |asked, tree| {
            let image = tree[SLOT]["Image"].clone();
            let shown = tree.get_mut(&format!("{MANAGER_MEDIA}/CD")).unwrap();
            shown["Image"] = image;
            assert!(!(asked.method == Method::POST && asked.path.contains("/CD/")), "{asked:?}");
            None
        },
    )
    .await;
    assert_eq!(both(&same_image).await.unwrap(), ["1", "RemovableDisk"]);
}

#[tokio::test]
async fn what_is_shown_as_two_drives_may_be_one_and_then_the_first_image_is_put_back() {
    // Whatever goes into one is in both, and what is taken out of one is out of both.
    let scripted = Scripted::new(
        |tree| slots(tree, SYSTEM_MEDIA, &[("1", &["CD"]), ("Alias", &["CD"]), ("3", &["USBStick"])]),
        |asked, tree| {
            let alias = format!("{SYSTEM_MEDIA}/Alias");
            if asked.method != Method::POST || asked.path.contains("/3/") || asked.path == SESSIONS {
                return None;
            }
            let reply = as_it_should_be(asked, tree);
            let (from, to) = if asked.path.contains("/Alias/") { (&*alias, SLOT) } else { (SLOT, &*alias) };
            let (image, inserted) = (tree[from]["Image"].clone(), tree[from]["Inserted"].clone());
            let other = tree.get_mut(to).unwrap();
            // The first look at the other name shows nothing of it.
            other["Inserted"] = inserted;
            other["Image"] = if image == ISO { Value::Null } else { image };
            if to == alias {
                other["Inserted"] = json!(false);
            }
            Some(reply)
        },
    )
    .await;
    assert_eq!(both(&scripted).await.unwrap(), ["1", "3"]);
    assert_eq!(images(&scripted, &[SLOT, &format!("{SYSTEM_MEDIA}/3")]), [ISO, VOLUME]);
}

#[tokio::test]
async fn an_idrac_boots_from_slot_one_alone() {
    let listed: &Slots<'_> = &[("2", &["CD", "DVD", "USBStick"]), ("1", &["CD", "DVD", "USBStick"])];
    let dell = Scripted::with_tree(|tree| {
        slots(tree, SYSTEM_MEDIA, listed);
        tree.get_mut("/redfish/v1").unwrap()["Vendor"] = json!("Dell");
    })
    .await;
    assert_eq!(both(&dell).await.unwrap(), ["1", "2"]);
    let another = Scripted::with_tree(|tree| slots(tree, SYSTEM_MEDIA, listed)).await;
    assert_eq!(both(&another).await.unwrap(), ["2", "1"], "elsewhere the BMC's order is kept");
}
