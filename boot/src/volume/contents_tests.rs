use serde_json::Value;

use super::*;

fn configuration() -> Configuration {
    Configuration {
        user_data: "#cloud-config\nruncmd: [kubeadm join --token s3cret]\n".into(),
        meta_data: MetaData { instance_id: "0f2e \"x\": y".into(), hostname: "node-1".into() },
        vendor_data: Some("#cloud-config\n\"quoted\"\n".into()),
        network_config: Some("version: 2\n".into()),
    }
}

fn content<'a>(files: &'a [File<'_>], path: &str) -> &'a [u8] {
    &files.iter().find(|file| file.path == path).unwrap().content
}

#[test]
fn cidata_has_what_nocloud_reads() {
    let files = Format::Cidata.files(&configuration()).unwrap();
    let paths: Vec<&str> = files.iter().map(|file| file.path).collect();
    assert_eq!(paths, ["user-data", "meta-data", "vendor-data", "network-config"]);
    assert_eq!(content(&files, "user-data"), configuration().user_data);
    assert_eq!(content(&files, "vendor-data"), b"#cloud-config\n\"quoted\"\n");
    assert_eq!(content(&files, "network-config"), b"version: 2\n");
    assert_eq!(
        content(&files, "meta-data"),
        b"instance-id: \"0f2e \\\"x\\\": y\"\nlocal-hostname: \"node-1\"\n"
    );
    let bare = Configuration { vendor_data: None, network_config: None, ..configuration() };
    assert_eq!(Format::Cidata.files(&bare).unwrap().len(), 2);
}

#[test]
fn config_2_has_what_a_config_drive_has_and_no_network() {
    let files = Format::Config2.files(&configuration()).unwrap();
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
    assert_eq!(read("vendor_data.json")["cloud-init"], "#cloud-config\n\"quoted\"\n");
    assert_eq!(content(&files, "openstack/latest/user_data"), configuration().user_data);
    assert!(Format::Cidata.holds_network_config() && !Format::Config2.holds_network_config());
}

#[test]
fn user_data_may_be_any_bytes_and_vendor_data_on_config_2_may_not() {
    let binary = Bytes::from_static(&[0x1f, 0x8b, 0xff, 0]);
    let packed = Configuration { user_data: binary.clone(), vendor_data: None, ..configuration() };
    for format in [Format::Cidata, Format::Config2] {
        assert!(format.files(&packed).unwrap().iter().any(|file| file.content == binary));
    }
    let vendor = Configuration { vendor_data: Some(binary), ..configuration() };
    assert_eq!(Format::Config2.files(&vendor), Err(ContentsError::VendorData));
    assert!(Format::Cidata.files(&vendor).is_ok());
}

#[test]
fn nothing_of_a_configuration_is_shown() {
    let shown = format!("{:?} {:?}", configuration(), Format::Cidata.files(&configuration()).unwrap());
    assert!(shown.contains("node-1") && !shown.contains("s3cret") && !shown.contains("quoted"), "{shown}");
    let large = Configuration { user_data: vec![b'x'; 65 << 20].into(), ..configuration() };
    let error = Format::Cidata.volume(&large).unwrap_err().to_string();
    assert!(error.contains("too large") && !error.contains("xxx"), "{error}");
}
