//! Tables over the settings of a host: whether its BMC may be asked, and what is said when it may not.

use beskar7_api::conditions::host::{
    MISSING_CREDENTIALS, MISSING_SECRET_DATA, NOT_PROBED, REDFISH_CONNECTION_READY, SECRET_GET_FAILED,
    SECRET_NOT_FOUND,
};
use serde_json::json;

use super::{
    super::{
        connection::SecretView::{Absent, Unreadable},
        samples::{PACE, at, complete, condition, host, keys, observed},
    },
    *,
};

#[test]
fn connection_settings_are_judged() {
    let with_ca = json!({"redfishConnection": {"caBundleSecretRef": {"name": "ca"}}});
    let user_and_password = || Some(keys(&["username", "password"]));
    let forbidden = || Unreadable("the API server answered 403".to_owned());
    for (name, spec, observed, status, reason, told, requeue) in [
        (
            "complete",
            json!({}),
            complete(),
            "Unknown",
            NOT_PROBED,
            "has not been contacted",
            Requeue::After(PACE.poll),
        ),
        (
            "more keys than needed",
            json!({}),
            observed(Some(keys(&["a", "password", "username"])), None),
            "Unknown",
            NOT_PROBED,
            "",
            Requeue::After(PACE.poll),
        ),
        (
            "no name",
            json!({"redfishConnection": {"credentialsSecretRef": ""}}),
            observed(None, None),
            "False",
            MISSING_CREDENTIALS,
            "name a Secret in namespace metal",
            Requeue::Growing(LOOK_SOON),
        ),
        (
            "no Secret",
            json!({}),
            observed(Some(Absent), None),
            "False",
            SECRET_NOT_FOUND,
            "Secret metal/bmc does not exist: create it with username and password",
            Requeue::Growing(LOOK_SOON),
        ),
        (
            "no permission",
            json!({}),
            observed(Some(forbidden()), None),
            "False",
            SECRET_GET_FAILED,
            "the API server answered 403",
            Requeue::Failed(Failure::Secret),
        ),
        (
            "no password",
            json!({}),
            observed(Some(keys(&["username"])), None),
            "False",
            MISSING_SECRET_DATA,
            "Secret metal/bmc of spec.redfishConnection.credentialsSecretRef has no password",
            Requeue::Growing(LOOK_SOON),
        ),
        (
            "empty Secret",
            json!({}),
            observed(Some(keys(&[])), None),
            "False",
            MISSING_SECRET_DATA,
            "has no username and password",
            Requeue::Growing(LOOK_SOON),
        ),
        (
            "CA bundle",
            with_ca.clone(),
            observed(user_and_password(), Some(keys(&["ca.crt"]))),
            "Unknown",
            NOT_PROBED,
            "",
            Requeue::After(PACE.poll),
        ),
        (
            "CA bundle of a TLS Secret",
            with_ca.clone(),
            observed(user_and_password(), Some(keys(&["tls.crt", "tls.key"]))),
            "Unknown",
            NOT_PROBED,
            "",
            Requeue::After(PACE.poll),
        ),
        (
            "no CA bundle",
            with_ca.clone(),
            observed(user_and_password(), Some(Absent)),
            "False",
            SECRET_NOT_FOUND,
            "Secret metal/ca does not exist: create it with ca.crt",
            Requeue::Growing(LOOK_SOON),
        ),
        (
            "CA bundle without certificates",
            with_ca.clone(),
            observed(user_and_password(), Some(keys(&["tls.key"]))),
            "False",
            MISSING_SECRET_DATA,
            "has no ca.crt (or tls.crt)",
            Requeue::Growing(LOOK_SOON),
        ),
        (
            "CA bundle unreadable",
            with_ca.clone(),
            observed(user_and_password(), Some(forbidden())),
            "False",
            SECRET_GET_FAILED,
            "Secret metal/ca",
            Requeue::Failed(Failure::Secret),
        ),
        (
            "credentials come first",
            with_ca,
            observed(Some(Absent), Some(Absent)),
            "False",
            SECRET_NOT_FOUND,
            "Secret metal/bmc",
            Requeue::Growing(LOOK_SOON),
        ),
    ] {
        let decision = decide(&host(spec, json!({})), &observed, PACE, at(7));
        for type_ in [REDFISH_CONNECTION_READY, conditions::READY] {
            let found = condition(&decision, type_);
            assert_eq!((found.0, found.1), (status, reason), "{name}: {type_}");
            assert!(found.2.contains(told), "{name}: {}", found.2);
        }
        assert_eq!(decision.requeue, requeue, "{name}");
        assert_eq!(decision.status.observed_generation, Some(3), "{name}");
        assert!(!decision.status.ready, "{name}");
        assert_eq!(decision.status.error_message.is_some(), status == "False", "{name}");
        assert_eq!(condition(&decision, conditions::PAUSED).0, "False", "{name}");
    }
}

#[test]
fn credentials_go_only_where_their_secret_says() {
    for (list, reason) in
        [("10.0.0.2, 10.0.0.1", "NotProbed"), ("10.0.0.2", "SecretNotForBMC"), ("", "SecretNotForBMC")]
    {
        let mut observed = complete();
        observed.secrets.only_for = Some(list.to_owned());
        let host = host(json!({}), json!({}));
        assert_eq!(may_be_asked(&host, &observed.secrets), reason == "NotProbed", "{list}");
        let decision = decide(&host, &observed, PACE, at(1));
        assert_eq!(condition(&decision, REDFISH_CONNECTION_READY).1, reason, "{list}");
    }
}
