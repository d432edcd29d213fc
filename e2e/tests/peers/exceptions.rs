//! What a peer can't do, or complains of, each with its reason. A list that is not exact fails its test: what is not
//! listed must work, and what is listed must still fail, in the way that is written here.

use crate::scenario::Scenario;

/// A scenario of the client that sushy-tools' emulator can't play.
pub struct Unplayed {
    pub scenario: Scenario,
    /// What the scenario says of it.
    pub said: &'static str,
    pub reason: &'static str,
}

/// sushy-tools 2.2.0 with its fake driver.
pub const EMULATOR: &[Unplayed] = &[
    Unplayed {
        scenario: Scenario::BootOnce,
        said: "armed: Some(\"Continuous\")",
        reason: "it shows and keeps every boot override as Continuous",
    },
    Unplayed {
        scenario: Scenario::ClearBoot,
        said: "clearing: ",
        reason: "it refuses a change of the override that names no target, and has no target that means none",
    },
    Unplayed {
        scenario: Scenario::BootIsoAndClean,
        said: "clearing: ",
        reason: "the last step takes the override back, which it can't; the steps before it work",
    },
    Unplayed {
        scenario: Scenario::Processors,
        said: "processors: []",
        reason: "its fake driver has no processors",
    },
    Unplayed {
        scenario: Scenario::Memory,
        said: "memory: []",
        reason: "it links to memory modules and has none",
    },
    Unplayed { scenario: Scenario::Drives, said: "drives: []", reason: "its fake driver has no storage" },
    Unplayed {
        scenario: Scenario::Firmware,
        said: "firmware: []",
        reason: "it links to a firmware inventory and has none",
    },
];

/// A step of the client sushy (`e2e/tools/python/drive.py`) that does not work on a profile of the simulator.
pub struct Unstepped {
    pub profile: &'static str,
    pub step: &'static str,
    /// What sushy says of it.
    pub said: &'static str,
    pub reason: &'static str,
}

/// sushy 5.14.0: it drives all six profiles through every step.
pub const SUSHY: &[Unstepped] = &[];

/// What DMTF's service validator finds wrong with the simulator's plain profile, warnings included.
pub struct Misfit {
    pub resource: &'static str,
    pub property: &'static str,
    /// What the validator says of it.
    pub said: &'static str,
    pub reason: &'static str,
}

/// redfish-service-validator 3.1.8.
pub const SERVICE_VALIDATOR: &[Misfit] = &[
    Misfit {
        resource: "/redfish/v1/Systems/System-1/Storage/Storage-1/Drives/Disk1",
        property: "/@odata.id",
        said: "Deprecated URI Warning",
        reason: "drives stand below their storage, as on the machines that the profiles imitate",
    },
    Misfit {
        resource: "/redfish/v1/Systems/System-1/Storage/Storage-1/Drives/Disk2",
        property: "/@odata.id",
        said: "Deprecated URI Warning",
        reason: "drives stand below their storage, as on the machines that the profiles imitate",
    },
];

/// An assertion of DMTF's protocol validator that fails, or is warned of, on the simulator's plain profile.
pub struct Offence {
    pub assertion: &'static str,
    /// What the validator says of it: method, path, status and message.
    pub said: &'static str,
    pub reason: &'static str,
}

/// redfish-protocol-validator 1.3.2: nothing fails.
pub const PROTOCOL_VALIDATOR_FAILS: &[Offence] = &[];

/// Assertions, by the beginning of their names, that the validator can't test on the simulator, and why.
pub const PROTOCOL_VALIDATOR_UNTESTED: &[(&str, &str)] = &[
    (
        "PROTO_REDIRECT_ENFORCES_TARGET_PRIVS",
        "a BMC with TLS does not listen without it, so nothing is redirected",
    ),
    ("REQ_DATA_MOD_ERRORS", "every POST that the validator looks at succeeds"),
    ("REQ_QUERY_INVALID_VALUES", "there is neither `only` nor `excerpt`, as the service root says"),
    ("RESP_STATUS_INTERNAL_SERVER_ERROR", "nothing that the validator asks is answered with 500"),
    ("SEC_DEFAULT_CERT_REPLACE", "there is no CertificateService: Beskar7 replaces no certificates"),
    ("SEC_PWD_CHANGE_REQ_", "accounts have no PasswordChangeRequired: Beskar7 changes no passwords"),
    ("SEC_SESSION_TERMINATION_SIDE_EFFECTS", "there is no EventService: Beskar7 listens to no events"),
    ("SERV_EVENT_", "there is no EventService: Beskar7 listens to no events"),
    ("SERV_SSDP_", "multicast would leave the machine, so the validator may not ask"),
    ("SERV_SSE_", "there is no EventService: Beskar7 listens to no events"),
];
