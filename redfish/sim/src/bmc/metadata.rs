//! `$metadata`: which schemas the resources are of.

use crate::profiles::Profile;

const COLLECTIONS: [&str; 14] = [
    "ChassisCollection",
    "ComputerSystemCollection",
    "EthernetInterfaceCollection",
    "ManagerAccountCollection",
    "ManagerCollection",
    "MemoryCollection",
    "MessageRegistryFileCollection",
    "ProcessorCollection",
    "RoleCollection",
    "SessionCollection",
    "SoftwareInventoryCollection",
    "StorageCollection",
    "TaskCollection",
    "VirtualMediaCollection",
];

/// The document.
pub(super) fn document(profile: &Profile) -> String {
    let schemas = &profile.schemas;
    let versions = [
        ("ServiceRoot", schemas.root),
        ("ComputerSystem", schemas.system),
        ("Manager", schemas.manager),
        ("VirtualMedia", schemas.media),
        ("Chassis", schemas.chassis),
        ("SessionService", "v1_1_8"),
        ("Session", "v1_3_0"),
        ("AccountService", "v1_10_0"),
        ("ManagerAccount", "v1_8_0"),
        ("Role", "v1_3_0"),
        ("TaskService", "v1_2_0"),
        ("Task", "v1_5_0"),
        ("UpdateService", "v1_11_0"),
        ("SoftwareInventory", "v1_7_0"),
        ("MessageRegistryFile", "v1_1_3"),
        ("Processor", "v1_13_0"),
        ("Memory", "v1_13_0"),
        ("EthernetInterface", "v1_8_0"),
        ("Storage", "v1_10_0"),
        ("Drive", "v1_13_0"),
        ("ActionInfo", "v1_2_0"),
        ("Settings", "v1_3_0"),
        ("Message", "v1_1_2"),
    ];
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <edmx:Edmx xmlns:edmx=\"http://docs.oasis-open.org/odata/ns/edmx\" Version=\"4.0\">\n",
    );
    for (schema, version) in versions {
        xml.push_str(&reference(schema, &[schema.to_owned(), format!("{schema}.{version}")]));
    }
    for schema in COLLECTIONS {
        xml.push_str(&reference(schema, &[schema.to_owned()]));
    }
    xml.push_str(&alias("RedfishExtensions", "RedfishExtensions.v1_0_0", "Redfish"));
    xml.push_str(&format!(
        "  <edmx:DataServices>\n    <Schema xmlns=\"http://docs.oasis-open.org/odata/ns/edm\" Namespace=\"Service\">\n      \
         <EntityContainer Name=\"Service\" Extends=\"ServiceRoot.{}.ServiceContainer\"/>\n    </Schema>\n  \
         </edmx:DataServices>\n</edmx:Edmx>\n",
        schemas.root
    ));
    xml
}

fn reference(schema: &str, namespaces: &[String]) -> String {
    let includes: String =
        namespaces.iter().map(|name| format!("    <edmx:Include Namespace=\"{name}\"/>\n")).collect();
    format!(
        "  <edmx:Reference Uri=\"http://redfish.dmtf.org/schemas/v1/{schema}_v1.xml\">\n{includes}  </edmx:Reference>\n"
    )
}

fn alias(schema: &str, namespace: &str, alias: &str) -> String {
    format!(
        "  <edmx:Reference Uri=\"http://redfish.dmtf.org/schemas/v1/{schema}_v1.xml\">\n    \
         <edmx:Include Namespace=\"{namespace}\" Alias=\"{alias}\"/>\n  </edmx:Reference>\n"
    )
}
