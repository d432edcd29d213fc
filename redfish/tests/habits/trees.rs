//! How resources are laid out.

use axum::http::Method;
use beskar7_redfish::{Error, MachineUuid};
use serde_json::{Value, json};

use crate::scripted::*;

#[tokio::test]
async fn of_several_systems_the_one_that_can_be_reset_is_taken() {
    let baseboard = "/redfish/v1/Systems/HGX_Baseboard_0";
    let scripted = Scripted::with_tree(|tree| {
        tree.insert("/redfish/v1/Systems".into(), collection(&[baseboard, SYSTEM]));
        tree.insert(baseboard.into(), json!({ "Id": "HGX_Baseboard_0", "Actions": {} }));
    })
    .await;
    assert_eq!(scripted.bmc().system(None).await.unwrap().path(), SYSTEM);
}

#[tokio::test]
async fn several_systems_that_can_be_reset_need_a_name() {
    let second = "/redfish/v1/Systems/Node1";
    let scripted = Scripted::with_tree(|tree| {
        tree.insert("/redfish/v1/Systems".into(), collection(&[SYSTEM, second]));
        tree.insert(second.into(), tree[SYSTEM].clone());
    })
    .await;
    let error = scripted.bmc().system(None).await.unwrap_err();
    assert!(error.to_string().contains("set systemID to one of 1, Node1"), "{error}");
    assert_eq!(scripted.bmc().system(Some("Node1")).await.unwrap().path(), second);
    let error = scripted.bmc().system(Some("Node9")).await.unwrap_err();
    assert!(matches!(error, Error::NoSuchSystem { .. }), "{error}");
    assert!(error.to_string().contains("no system Node9: set systemID to one of 1, Node1"), "{error}");
    // The address may name it, too.
    let bmc = client(&format!("{}{second}", scripted.url()), beskar7_redfish::Limits::default());
    assert_eq!(bmc.system(None).await.unwrap().path(), second);
}

#[tokio::test]
async fn paths_are_used_as_they_are_given() {
    // One that knows its resources by the path with a slash, and only so.
    let with_slash = format!("{SYSTEM}/");
    let scripted = Scripted::new(
        |tree| {
            tree.insert("/redfish/v1/Systems".into(), collection(&[&format!("{SYSTEM}/")]));
        },
        |asked, _| asked.is(&Method::GET, SYSTEM).then(|| Reply::new(404, Value::Null)),
    )
    .await;
    assert_eq!(scripted.bmc().system(Some("1")).await.unwrap().path(), with_slash);
    assert!(
        scripted.asked().iter().all(|asked| !asked.path.contains('?')),
        "$expand and the like are not used"
    );
}

#[tokio::test]
async fn a_collection_without_members_is_empty() {
    let scripted = Scripted::with_tree(|tree| {
        tree.insert("/redfish/v1/Systems/1/VirtualMedia".into(), json!({ "Members": null }));
    })
    .await;
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    assert!(bmc.slots(&system).await.unwrap().is_empty());

    let none = Scripted::with_tree(|tree| {
        tree.insert("/redfish/v1/Systems".into(), json!({ "Members": null }));
    })
    .await;
    let error = none.bmc().system(None).await.unwrap_err();
    assert!(matches!(error, Error::NoSystem { .. }), "{error}");
}

#[tokio::test]
async fn a_collection_of_several_pages_is_followed() {
    let scripted = Scripted::with_tree(|tree| {
        let mut first = collection(&["/redfish/v1/Systems/0"]);
        first["Members@odata.nextLink"] = json!("/redfish/v1/Systems?$skip=1");
        tree.insert("/redfish/v1/Systems".into(), first);
        tree.insert("/redfish/v1/Systems?$skip=1".into(), collection(&[SYSTEM]));
    })
    .await;
    assert_eq!(scripted.bmc().system(Some("1")).await.unwrap().path(), SYSTEM);
}

#[tokio::test]
async fn the_content_type_is_not_believed() {
    for content_type in ["text/html", "text/plain; charset=latin-1", ""] {
        let scripted = Scripted::new(
            |_| {},
            move |asked, tree| {
                (asked.method == Method::GET)
                    .then(|| as_it_should_be(asked, tree).with("content-type", content_type))
            },
        )
        .await;
        assert_eq!(scripted.bmc().system(None).await.unwrap().path(), SYSTEM, "{content_type:?}");
    }
}

#[tokio::test]
async fn a_uuid_may_be_in_either_byte_order() {
    let scripted = Scripted::plain().await;
    let system = scripted.bmc().system(None).await.unwrap();
    for (uuid, same) in [
        ("38947555-7742-3448-3784-823347823834", true),
        ("55759438-4277-4834-3784-823347823834", true),
        ("38947555-7742-3448-8437-823347823834", false),
    ] {
        assert_eq!(system.has_uuid(MachineUuid::parse(uuid).unwrap()), same, "{uuid}");
    }
}
