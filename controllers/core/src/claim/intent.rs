//! The intent: which host a consumer is about to hold, or holds, under which claim. It is one annotation on the
//! consumer, `<namespace>/<host>/<claimID>`, with `/renews-<claimID>` behind it where it takes the place of an older claim
//! on the same host, and `/given-up` once there is no way back.

use std::fmt;

use super::candidate::Candidate;

/// Says in the annotation that the intent is being given up.
const GIVEN_UP: &str = "given-up";
/// Before the claim whose place it takes.
const RENEWS: &str = "renews-";
/// A claim ID is 128 bits in hexadecimal digits.
const CLAIM_ID_LENGTH: usize = 32;

/// The identity of a claim, the same on the consumer and on the host. A consumer that names it holds the claim: it is
/// for the host and its consumer, and not for messages that others read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimId(String);

impl ClaimId {
    /// From 128 random bits, which the caller draws.
    #[must_use]
    pub fn from_random(bits: u128) -> Self {
        Self(format!("{bits:032x}"))
    }

    /// As it stands in `spec.claimID` and in annotations. Nothing but what [`ClaimId::from_random`] makes is one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let ours = text.len() == CLAIM_ID_LENGTH
            && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        ours.then(|| Self(text.to_owned()))
    }

    /// As it stands in `spec.claimID` and in annotations.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which host, under which claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Intent {
    /// The host's namespace.
    pub namespace: String,
    /// The host's name.
    pub host: String,
    /// The claim.
    pub claim_id: ClaimId,
    /// The claim of the same consumer on the same host whose place it takes: the host may still be under that one.
    pub renews: Option<ClaimId>,
    /// Whether it is being given up: from then on nothing is bound under this claim.
    pub given_up: bool,
}

impl Intent {
    /// As it stands in the annotation. `None` for anything that we would not have written.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/').peekable();
        let (namespace, host, id) = (parts.next()?, parts.next()?, parts.next()?);
        let renews = match parts.peek().and_then(|part| part.strip_prefix(RENEWS)) {
            Some(before) => Some(ClaimId::parse(before)?),
            None => None,
        };
        if renews.is_some() {
            parts.next();
        }
        let given_up = match (parts.next(), parts.next()) {
            (None, None) => false,
            (Some(GIVEN_UP), None) => true,
            (None | Some(_), None | Some(_)) => return None,
        };
        if namespace.is_empty() || host.is_empty() {
            return None;
        }
        let claim_id = ClaimId::parse(id)?;
        Some(Self { namespace: namespace.to_owned(), host: host.to_owned(), claim_id, renews, given_up })
    }

    /// To take a host that was chosen, under a claim ID that was never used.
    #[must_use]
    pub fn take(host: &Candidate<'_>, fresh: ClaimId) -> Self {
        Self {
            namespace: host.namespace.to_owned(),
            host: host.name.to_owned(),
            claim_id: fresh,
            renews: None,
            given_up: false,
        }
    }

    /// To take a new claim on the host that is held under this one, under a claim ID that was never used: another image is
    /// wanted, or none. Only for a host whose machine was made ready under this intent: an intent names one claim before
    /// it, and no more.
    #[must_use]
    pub fn renew(&self, fresh: ClaimId) -> Self {
        Self { claim_id: fresh, renews: Some(self.claim_id.clone()), ..self.clone() }
    }

    /// The same, given up. Made at the `resourceVersion` of the consumer, like every intent.
    #[must_use]
    pub fn give_up(&self) -> Self {
        Self { given_up: true, ..self.clone() }
    }
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, host, claim_id, renews, given_up } = self;
        write!(f, "{namespace}/{host}/{claim_id}")?;
        if let Some(before) = renews {
            write!(f, "/{RENEWS}{before}")?;
        }
        if *given_up { write!(f, "/{GIVEN_UP}") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn what_is_written_is_read_again() {
        for (given_up, renews) in [(false, None), (true, None), (false, Some(7)), (true, Some(7))] {
            let claim_id = ClaimId::from_random(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
            let renews = renews.map(ClaimId::from_random);
            let intent = Intent { namespace: "metal".into(), host: "h-7".into(), claim_id, renews, given_up };
            assert_eq!(Intent::parse(&intent.to_string()), Some(intent));
        }
        assert_eq!(ClaimId::from_random(0).as_str().len(), CLAIM_ID_LENGTH, "leading zeros stay");
        assert_eq!(
            Intent::parse(&format!("metal/h-7/{ID}/given-up")).unwrap().to_string(),
            format!("metal/h-7/{ID}/given-up")
        );
    }

    #[test]
    fn what_somebody_else_wrote_is_not() {
        let upper = ID.to_uppercase();
        for text in [
            String::new(),
            "/".into(),
            "//".into(),
            "metal".into(),
            "metal/h".into(),
            "metal/h/".into(),
            format!("/h/{ID}"),
            format!("metal//{ID}"),
            format!("metal/h/{ID}/"),
            format!("metal/h/{ID}/bound"),
            format!("metal/h/{ID}/given-up/"),
            format!("metal/h/{ID}//given-up"),
            format!("metal/h/{ID}/renews-"),
            format!("metal/h/{ID}/renews-{}", &ID[1..]),
            format!("metal/h/{ID}/given-up/renews-{ID}"),
            format!("metal/h/{ID}/renews-{ID}/renews-{ID}"),
            format!("metal/h/{ID}0"),
            format!("metal/h/{}", &ID[1..]),
            format!("metal/h/{upper}"),
            format!("metal/h/ {ID}"),
            format!("metal/h/{ID}\n"),
            format!("metal/h/{}é", &ID[2..]),
        ] {
            assert_eq!(Intent::parse(&text), None, "{text:?}");
        }
    }
}
