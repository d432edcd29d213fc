//! Bytes that go on where they broke off.

use std::io::{self, Read};

use backon::ExponentialBackoff;
use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::header::{IF_RANGE, RANGE};
use url::Url;

use super::answer::{Identity, interpret};
use super::patience::{Patience, patiently, pause};
use super::trouble::{Trouble, causes};
use crate::fetching::FetchError;

/// Where something is, and how it is asked for.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub client: Client,
    pub url: Url,
    /// What errors call it.
    pub what: String,
    pub patience: Patience,
}

/// What is being read.
pub(super) struct Body {
    source: Source,
    identity: Identity,
    position: u64,
    current: Current,
    /// Those that are left, since something was read.
    pauses: ExponentialBackoff,
}

enum Current {
    Open(Response),
    Broken,
    End,
}

impl Body {
    /// Opens it, from a byte on. Where it was read before, it must still be the same.
    pub(super) fn open(source: Source, from: u64, known: Option<&Identity>) -> Result<Self, FetchError> {
        let mut pauses = source.patience.pauses();
        let (current, identity) = patiently(&mut pauses, || source.opened(from, known))?;
        Ok(Self { pauses: source.patience.pauses(), source, identity, position: from, current })
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Waits, and goes on from where it broke off.
    fn go_on(&mut self, why: String) -> Result<(), FetchError> {
        pause(&mut self.pauses, why)?;
        let (source, position, identity) = (&self.source, self.position, &self.identity);
        let (current, _same) = patiently(&mut self.pauses, || source.opened(position, Some(identity)))?;
        self.current = current;
        Ok(())
    }

    /// Why what ends here has not come to its end, if that is so.
    fn missing(&self) -> Option<String> {
        let total = self.identity.total.filter(|total| self.position < *total)?;
        Some(format!("{} ended after {} of {total} bytes", self.source.what, self.position))
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let broken = match &mut self.current {
                Current::End => return Ok(0),
                Current::Broken => format!("{} broke off", self.source.what),
                Current::Open(response) => match response.read(buffer) {
                    Ok(0) => match self.missing() {
                        Some(missing) => missing,
                        None => return Ok(0),
                    },
                    Ok(length) => {
                        self.position += length as u64;
                        self.pauses = self.source.patience.pauses();
                        return Ok(length);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => format!("{} broke off: {}", self.source.what, causes(&error)),
                },
            };
            self.current = Current::Broken;
            self.go_on(broken).map_err(io::Error::other)?;
        }
    }
}

impl Source {
    /// Asks once.
    fn opened(&self, from: u64, known: Option<&Identity>) -> Result<(Current, Identity), Trouble> {
        let mut request = self.client.get(self.url.clone());
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
            if let Some(condition) = known.and_then(Identity::condition) {
                request = request.header(IF_RANGE, condition);
            }
        }
        let mut response = request.send().map_err(|error| Trouble::of_request(&self.what, error))?;
        let fitting = interpret(&self.what, response.status(), response.headers(), from, known)?;
        if fitting.is_end {
            return Ok((Current::End, fitting.identity));
        }
        debug_assert!(fitting.skip == 0 || response.status() == StatusCode::OK);
        self.skip(&mut response, fitting.skip)?;
        Ok((Current::Open(response), fitting.identity))
    }

    /// Reads what was read before: the server can't begin later.
    fn skip(&self, response: &mut Response, bytes: u64) -> Result<(), Trouble> {
        let skipped = io::copy(&mut response.take(bytes), &mut io::sink());
        match skipped {
            Ok(skipped) if skipped == bytes => Ok(()),
            Ok(skipped) => Err(Trouble::Passing(format!("{} ended after {skipped} bytes", self.what))),
            Err(error) => Err(Trouble::Passing(format!("{} broke off: {}", self.what, causes(&error)))),
        }
    }
}
