//! What a fuzzer calls: everything that reads what a BMC sent, or what a person wrote, without a network.
//!
//! These functions panic where a promise is broken, which is how a fuzzer notices. They are compiled only with the
//! feature `fuzzing`, which nothing that ships has.

use std::hint::black_box;
use std::sync::LazyLock;

use beskar7_machine_uuid::MachineUuid;
use reqwest::StatusCode;
use reqwest::header::{ETAG, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};

use crate::address::Address;
use crate::bmc::Bmc;
use crate::credentials::Credentials;
use crate::error::Error;
use crate::etag::EtagLadder;
use crate::http_clients::{HttpClient, HttpClients};
use crate::media::Slot;
use crate::message::Messages;
use crate::quirks::{FirstBoot, Quirks};
use crate::resource::Resource;
use crate::system::System;
use crate::transport::{Answer, Limits, Transport};
use crate::trust::Trust;
use crate::{inventory, power};

/// As many characters as one error may have: it goes into logs, events and the status of a host.
const LONGEST_ERROR: usize = 3000;

/// The password in the seeds, which the fuzzer shifts about.
const PASSWORD: &str = "a-password";

/// A way to a BMC that is never asked.
struct Nowhere {
    transport: Transport,
    bmc: Bmc,
}

static NOWHERE: LazyLock<Option<Nowhere>> = LazyLock::new(|| {
    let http: HttpClient = HttpClients::default().get(&Trust::Anything).ok()?;
    let address = Address::parse("https://192.0.2.1/rack").ok()?;
    let transport = Transport::new(http.clone(), address.clone(), Limits::default());
    let bmc = Bmc::new(http, address, Credentials::new("user", "password"), Limits::default());
    Some(Nowhere { transport, bmc })
});

/// Reads bytes as the body of an answer.
pub fn resource(body: &[u8]) {
    let Some(nowhere) = &*NOWHERE else { return };
    judge(&nowhere.bmc, body);
    messages(&Messages::of(body));
    let answer = Answer { status: StatusCode::OK, headers: HeaderMap::new(), body: body.to_vec() };
    if let Some(location) = answer.location() {
        stays_there(nowhere.transport.address(), &location);
    }
    match nowhere.transport.resource("/redfish/v1/x", &answer) {
        Ok(resource) => read(nowhere, &resource),
        Err(error) => is_fit_to_print(&error),
    }
}

/// Whatever the status, an answer is accepted, or refused in words that a person can be shown.
fn judge(bmc: &Bmc, body: &[u8]) {
    for status in [StatusCode::OK, StatusCode::ACCEPTED, StatusCode::BAD_REQUEST, StatusCode::FORBIDDEN] {
        let answer = Answer { status, headers: HeaderMap::new(), body: body.to_vec() };
        if let Err(error) = bmc.accepted("POST /redfish/v1/x", answer) {
            is_fit_to_print(&error);
        }
    }
}

fn read(nowhere: &Nowhere, resource: &Resource) {
    for name in ["Systems", "Links/Sessions", "VirtualMedia", "@Redfish.Settings/SettingsObject"] {
        resource.link(name).into_iter().for_each(|path| named(nowhere, path));
    }
    for name in ["Members", "Drives", "Links/ManagedBy"] {
        resource.links(name).into_iter().for_each(|path| named(nowhere, path));
    }
    for name in ["Members@odata.nextLink", "Actions/#ComputerSystem.Reset/target"] {
        resource.text(name).into_iter().for_each(|path| named(nowhere, path));
    }
    system(&System::new(resource.clone()));
    quirks(resource);
    inventory::read_as_every_part(resource);
    Slot::read_as_slot(resource.clone());
    is_fit_to_print(&nowhere.bmc.read_as_task(resource));
    black_box(power::allowed_by_action_info(resource));
    conditions(resource.etag());
}

/// A path that a BMC names is read there, and what is said of a failure can be shown.
fn named(nowhere: &Nowhere, path: &str) {
    stays_there(nowhere.transport.address(), path);
    let nothing = Answer { status: StatusCode::OK, headers: HeaderMap::new(), body: Vec::new() };
    if let Err(error) = nowhere.transport.resource(path, &nothing) {
        is_fit_to_print(&error);
    }
}

fn system(system: &System) {
    let texts = [
        system.manufacturer(),
        system.model(),
        system.serial_number(),
        system.health(),
        system.health_rollup(),
        system.state(),
        system.bios_version(),
        system.override_enabled(),
        system.override_target(),
        system.override_mode(),
    ];
    assert!(texts.into_iter().flatten().all(|text| !text.is_empty()), "an empty text is none");
    black_box((system.power(), system.boot_progress(), system.summary(), system.uuid()));
}

fn quirks(root: &Resource) {
    let quirks = Quirks::of(root);
    black_box(quirks.virtual_cd_is_usb(root.text("Model")));
    for first in [FirstBoot::VirtualCd, FirstBoot::Normal] {
        black_box(quirks.first_boot(root, first));
    }
}

/// What a BMC said is short and without control characters, however much it said.
fn messages(messages: &Messages) {
    assert_printable(&messages.to_string());
}

fn is_fit_to_print(error: &Error) {
    black_box(error.category());
    assert_printable(&error.to_string());
}

fn assert_printable(text: &str) {
    assert!(text.chars().nth(LONGEST_ERROR).is_none(), "{} bytes", text.len());
    assert!(!text.chars().any(char::is_control), "{text:?}");
}

/// Reads bytes as an address, as a path on the BMC there, and as header values.
pub fn texts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (written, named) = text.split_once('\n').unwrap_or((&text, &text));
    address(written, named);
    uuid(named);
    if let Ok(value) = HeaderValue::from_bytes(named.as_bytes()) {
        headers(&value);
    }
}

/// An address is refused without its password, or read; and then it leads nowhere but to its own host.
fn address(written: &str, named: &str) {
    match Address::parse(written) {
        Ok(address) => {
            let again = Address::parse(&address.to_string());
            assert_eq!(again.map(|a| a.to_string()), Ok(address.to_string()), "{written:?}");
            stays_there(&address, named);
            if let Some(system) = address.system() {
                stays_there(&address, system);
            }
        }
        Err(error) => {
            let said = error.to_string();
            // Behind the @ it is no password.
            if let Some((_, rest)) = written.rsplit_once('@')
                && !rest.contains(PASSWORD)
            {
                assert!(!said.contains(PASSWORD), "{said:?} from {written:?}");
            }
        }
    }
}

/// What a BMC names is on that BMC: the same host, below the same prefix, without a user.
fn stays_there(address: &Address, named: &str) {
    let (home, url) = (address.url("/"), address.url(named));
    assert_eq!(url.origin(), home.origin(), "{named:?}");
    assert!(url.username().is_empty() && url.password().is_none(), "{named:?}");
    assert!(url.path().starts_with(home.path()), "{named:?} leads to {url}, not below {home}");
}

fn uuid(text: &str) {
    if let Some(uuid) = MachineUuid::parse(text) {
        assert_eq!(MachineUuid::parse(&uuid.to_string()), Some(uuid));
        assert!(uuid.is_same_machine(uuid.swapped()) && uuid.swapped().swapped() == uuid);
    }
}

fn headers(value: &HeaderValue) {
    let Some(nowhere) = &*NOWHERE else { return };
    let all: [HeaderName; 3] = [LOCATION, RETRY_AFTER, ETAG];
    let headers: HeaderMap = all.into_iter().map(|name| (name, value.clone())).collect();
    let answer = Answer { status: StatusCode::SERVICE_UNAVAILABLE, headers, body: b"{}".to_vec() };
    black_box(answer.retry_after());
    if let Some(location) = answer.location() {
        stays_there(nowhere.transport.address(), &location);
    }
    if let Ok(resource) = nowhere.transport.resource("/redfish/v1/x", &answer) {
        conditions(resource.etag());
    }
    if let Err(error) = nowhere.bmc.accepted("POST /redfish/v1/x", answer) {
        is_fit_to_print(&error);
    }
}

/// Every rung of the ladder comes to something, and there is always one to try.
fn conditions(etag: Option<&str>) {
    let rungs = EtagLadder::default().rungs(etag);
    assert!(!rungs.is_empty(), "{etag:?}");
    for rung in rungs {
        black_box(rung.value(etag));
    }
}
