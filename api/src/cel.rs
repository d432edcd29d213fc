//! Building blocks of the CEL rules in the schemas: patterns and rules that several kinds share.

/// A rule that holds while the optional field `field` of both objects is the same.
///
/// Written with `has` on both sides, because a transition rule on the field itself would not see
/// the field being added or removed.
pub(crate) fn unchanged(field: &str) -> String {
    let (parent, name) = field.rsplit_once('.').map_or((String::new(), field), |(p, n)| (format!(".{p}"), n));
    format!(
        "has(self{parent}.{name}) == has(oldSelf{parent}.{name}) && \
         (!has(self{parent}.{name}) || self{parent}.{name} == oldSelf{parent}.{name})"
    )
}

/// A MAC address in the one form that DHCP servers and firmware agree on.
pub(crate) const MAC_RULE: &str = "self.matches('^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$')";
/// What to write instead.
pub(crate) const MAC_MESSAGE: &str =
    "is not a MAC address: write six pairs of hex digits separated by colons, for example 00:1a:4b:16:01:fe";

/// An http(s) URL without user information: a name, an IPv4 address or a bracketed IPv6 address, a
/// port from 1 to 65535, a path.
pub(crate) const REDFISH_URL_RULE: &str = concat!(
    r"self.matches(r'^https?://([a-zA-Z0-9.-]+|\[[0-9a-fA-F:.]+\])",
    r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?",
    r"(/[^\s]*)?$')"
);

/// An IPv4 address.
pub(crate) const IPV4_RULE: &str = "isIP(self) && ip(self).family() == 4";
/// A list of such.
pub(crate) const IPV4_LIST_RULE: &str = "self.all(a, isIP(a) && ip(a).family() == 4)";
