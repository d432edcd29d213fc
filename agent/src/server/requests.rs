//! Orders and reports.

use std::io::Read as _;

use beskar7_agent_protocol::order::Order;
use beskar7_agent_protocol::paths;
use beskar7_agent_protocol::report::Report;
use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;

use super::client::Server;
use super::trouble::{Trouble, causes};
use crate::fetching::FetchError;

/// An order is smaller.
const LARGEST_ORDER: u64 = 1 << 20;

/// What came of asking for an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// There is none yet.
    Nothing,
    /// This is to be done.
    Order(Box<Order>),
    /// Something is to be done that this agent does not know.
    Unknown {
        /// The order's id.
        id: String,
        /// What can't be understood of it.
        why: String,
    },
}

/// What came of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The server has it.
    Taken,
    /// The order is not wanted any more.
    Unwanted,
}

/// What every order has, whatever else there is.
#[derive(Deserialize)]
struct Named {
    id: String,
}

impl Server {
    /// Asks for the next order.
    ///
    /// # Errors
    /// The server can't be reached, or does not know this machine.
    pub fn order(&self) -> Result<Asked, FetchError> {
        let (url, what) = self.locate(paths::ORDER)?;
        self.patience.patiently(|| {
            let response = self.client.get(url.clone()).send();
            let response = response.map_err(|error| Trouble::of_request(&what, error))?;
            match response.status() {
                StatusCode::NO_CONTENT => return Ok(Asked::Nothing),
                StatusCode::OK => {}
                other => return Err(Trouble::of_status(&what, other)),
            }
            let mut bytes = Vec::new();
            let read = response.take(LARGEST_ORDER).read_to_end(&mut bytes);
            read.map_err(|error| Trouble::Passing(format!("{what} broke off: {}", causes(&error))))?;
            understood(&bytes)
        })
    }

    /// Reports, and tries again where the server does not take it.
    ///
    /// # Errors
    /// The server can't be reached, or does not want to hear this.
    pub fn report(&self, report: &Report) -> Result<Told, FetchError> {
        self.patience.patiently(|| self.report_once(report))
    }

    /// Reports, and leaves it at that: there is more to say soon.
    pub(crate) fn report_once(&self, report: &Report) -> Result<Told, Trouble> {
        let (url, what) = self.locate(paths::REPORT).map_err(Trouble::Lasting)?;
        let body = serde_json::to_vec(report).map_err(|error| {
            Trouble::Lasting(FetchError::Refused(format!("a report can't be written: {error}")))
        })?;
        let request = self.client.post(url).header(CONTENT_TYPE, "application/json").body(body);
        let response = request.send().map_err(|error| Trouble::of_request(&what, error))?;
        match response.status() {
            StatusCode::GONE => Ok(Told::Unwanted),
            status if status.is_success() => Ok(Told::Taken),
            other => Err(Trouble::of_status(&what, other)),
        }
    }
}

/// Reads an order. One of which not even the id can be read is a server's mistake that may pass.
fn understood(bytes: &[u8]) -> Result<Asked, Trouble> {
    match (serde_json::from_slice::<Order>(bytes), serde_json::from_slice::<Named>(bytes)) {
        (Ok(order), _) => Ok(Asked::Order(Box::new(order))),
        (Err(error), Ok(Named { id })) => Ok(Asked::Unknown { id, why: error.to_string() }),
        (Err(error), Err(_)) => {
            Err(Trouble::Passing(format!("{}: the server's order can't be read: {error}", paths::ORDER)))
        }
    }
}

#[cfg(test)]
mod tests {
    use beskar7_agent_protocol::order::Task;

    use super::*;

    #[test]
    fn an_order_is_understood_or_known_by_its_id_at_least() {
        let order = Order { id: "7".to_owned(), machine: None, task: Task::Inspect };
        let read = understood(br#"{"id":"7","task":"inspect"}"#).unwrap();
        assert_eq!(read, Asked::Order(Box::new(order)));
        let read = understood(br#"{"id":"7","task":"dance"}"#).unwrap();
        assert!(
            matches!(&read, Asked::Unknown { id, why } if id == "7" && why.contains("dance")),
            "{read:?}"
        );
        assert!(matches!(understood(b"<html>"), Err(Trouble::Passing(_))));
    }
}
