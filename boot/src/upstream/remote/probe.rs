//! The question that opens an image, and that is asked again when a server says that it has changed.

use http::header::RANGE;
use url::Url;

use crate::upstream::access::Access;
use crate::upstream::error::Why;
use crate::upstream::partial::{self, First};
use crate::upstream::pin::{Pin, Validator};
use crate::upstream::web::Answer;

/// What is behind a URL now.
pub(super) struct Probed {
    pub first: First,
    pub validator: Option<Validator>,
    pub from: Url,
}

impl Probed {
    /// Whether it is what was pinned.
    pub(super) fn is(&self, pin: &Pin) -> bool {
        let same = match pin.validator() {
            Validator::Content(_) => true,
            pinned @ (Validator::Strong(_) | Validator::Modified(_) | Validator::Weak(_)) => {
                self.validator.as_ref() == Some(pinned)
            }
        };
        same && self.first.size == pin.size()
    }
}

/// Asks for the first byte.
pub(super) async fn probe(access: &Access, url: &Url) -> Result<Probed, Why> {
    let Answer { response, from } = access.get(url, &[(RANGE, "bytes=0-0".to_owned())]).await?;
    let first = partial::first(response.status(), response.headers())?;
    Ok(Probed { first, validator: Validator::of(response.headers()), from })
}
