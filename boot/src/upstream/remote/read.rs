//! One read of a range, over as many requests as it takes.

use std::ops::Range;

use bytes::Bytes;
use reqwest::Response;
use tokio::time::{sleep, timeout};

use super::{Broken, Remote};
use crate::source::SourceError;
use crate::upstream::error::{Why, told};

/// A body that is being read.
pub(crate) struct Body {
    response: Response,
    remote: Remote,
}

impl Body {
    pub(super) fn new(response: Response, remote: Remote) -> Self {
        Self { response, remote }
    }

    /// The next bytes; `None` at the end, which may be early.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Why> {
        let stall = self.remote.shared.limits.stall;
        match timeout(stall, self.response.chunk()).await {
            Ok(Ok(chunk)) => Ok(chunk),
            Ok(Err(error)) => Err(Why::Unreachable(told(error))),
            Err(_) => {
                let waited = stall.as_secs_f64();
                Err(Why::Unreachable(format!("the server sent nothing for {waited} s")))
            }
        }
    }
}

/// One read of a range, over as many requests as it takes.
pub(super) struct Read {
    remote: Remote,
    left: Range<u64>,
    body: Option<Body>,
    resumed: u32,
}

impl Read {
    pub(super) fn new(remote: Remote, range: Range<u64>) -> Self {
        Self { remote, left: range, body: None, resumed: 0 }
    }

    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        while !self.left.is_empty() {
            match self.attempt().await {
                Ok(chunk) => return Ok(Some(chunk)),
                Err(Broken::Lasting(error)) => return Err(error),
                Err(Broken::Passing(why)) => self.resume(&why).await?,
            }
        }
        Ok(None)
    }

    async fn attempt(&mut self) -> Result<Bytes, Broken> {
        let body = match &mut self.body {
            Some(body) => body,
            None => {
                let response = self.remote.ask(&self.left).await?;
                self.body.insert(Body { response, remote: self.remote.clone() })
            }
        };
        loop {
            let Some(chunk) = body.next().await.map_err(Broken::Passing)? else {
                let missing = self.left.end.saturating_sub(self.left.start);
                let why = format!("the server ended its answer {missing} bytes too early");
                return Err(Broken::Passing(Why::Unreachable(why)));
            };
            if chunk.is_empty() {
                continue;
            }
            let after = self.left.start.saturating_add(chunk.len() as u64);
            if after > self.left.end {
                let why = Why::Answer("the server sent more than was asked for".to_owned());
                return Err(Broken::Lasting(self.remote.unreadable(&why)));
            }
            self.left.start = after;
            return Ok(chunk);
        }
    }

    async fn resume(&mut self, why: &Why) -> Result<(), SourceError> {
        self.body = None;
        let limits = self.remote.shared.limits;
        if self.resumed >= limits.resumes {
            return Err(self.remote.unreadable(why));
        }
        let image = self.remote.name();
        tracing::debug!(image, at = self.left.start, %why, "a read broke off and is resumed");
        sleep(limits.pause.saturating_mul(1 << self.resumed.min(10))).await;
        self.resumed = self.resumed.saturating_add(1);
        Ok(())
    }
}
