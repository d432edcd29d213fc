//! Power as the BMC shows and changes it.

use http::StatusCode;
use serde_json::{Value, json};

use super::access::Who;
use super::answer::{Answer, Request};
use super::boot::success;
use super::resource::{self, Resource};
use super::{Bmc, object};
use crate::clock::Moment;
use crate::faults::Fault;
use crate::machine::log::Action;
use crate::machine::power::{Outcome, PowerState, ResetType};
use crate::profiles::habits::MediaReply;

const ACTION: &str = "ComputerSystem.Reset";

impl Bmc {
    /// The power state as this BMC reports it.
    #[must_use]
    pub fn power_state(&self) -> PowerState {
        let power = self.machine.power();
        if self.profile.reset.shows_transitions {
            return power;
        }
        match power {
            PowerState::Off | PowerState::PoweringOn => PowerState::Off,
            PowerState::On | PowerState::PoweringOff => PowerState::On,
        }
    }

    pub(super) fn reset_action_info(&self) -> Value {
        let types: Vec<&str> = self.profile.reset.types.iter().map(|kind| kind.name()).collect();
        json!({
            "@odata.id": resource::path(self.profile, &Resource::ResetActionInfo),
            "@odata.type": "#ActionInfo.v1_2_0.ActionInfo",
            "Id": "ResetActionInfo",
            "Name": "Reset Action Info",
            "Parameters": [{
                "Name": "ResetType",
                "Required": true,
                "DataType": "String",
                "AllowableValues": types,
            }],
        })
    }

    pub(super) fn reset_system(&mut self, request: &Request, who: &Who, now: Moment) -> Answer {
        let Some(body) = object(&request.body) else { return Answer::malformed() };
        let Some(name) = body.get("ResetType").and_then(Value::as_str) else {
            return Answer::missing_parameter(ACTION, "ResetType");
        };
        let Some(kind) = ResetType::parse(name).filter(|kind| self.profile.reset.types.contains(kind)) else {
            let text = format!(
                "The value {name} for the parameter ResetType in the action {ACTION} is not in the list of acceptable values."
            );
            let id = "Base.1.12.ActionParameterValueNotInList";
            return Answer::error(StatusCode::BAD_REQUEST, id, &text, &[name, "ResetType", ACTION]);
        };
        if self.rests(kind, now) {
            self.machine.note(now, who, Action::Reset { kind, outcome: Outcome::Refused });
            return conflict("The machine was powered off a moment ago and can't be powered on yet.");
        }
        if self.faults.strikes(Fault::StuckPower, &request.path) {
            self.machine.note(now, who, Action::Reset { kind, outcome: Outcome::Stuck });
            return self.reset_accepted();
        }
        match self.reset_machine(who, kind, now) {
            Outcome::AlreadyThere if self.profile.reset.refuses_same_state => {
                conflict("The machine is in the requested power state already.")
            }
            Outcome::AlreadyThere
            | Outcome::Started
            | Outcome::Unheard
            | Outcome::Stuck
            | Outcome::Refused => self.reset_accepted(),
        }
    }

    fn reset_machine(&mut self, who: &Who, kind: ResetType, now: Moment) -> Outcome {
        if kind == ResetType::ForceRestart && self.profile.reset.restart_hangs {
            self.machine.note(now, who, Action::Reset { kind, outcome: Outcome::Stuck });
            return self.machine.reset(now, who, ResetType::ForceOff);
        }
        self.machine.reset(now, who, kind)
    }

    fn rests(&self, kind: ResetType, now: Moment) -> bool {
        let off = self.machine.off_since().filter(|off| !off.is_zero());
        let too_soon =
            off.is_some_and(|off| now.saturating_sub(off) < self.pace.of(self.profile.reset.rests));
        too_soon && matches!(kind, ResetType::On | ResetType::ForceOn | ResetType::PushPowerButton)
    }

    fn reset_accepted(&self) -> Answer {
        if self.profile.media.reply == MediaReply::SuccessMessage {
            return success();
        }
        Answer::empty(StatusCode::NO_CONTENT)
    }
}

fn conflict(text: &str) -> Answer {
    Answer::error(StatusCode::CONFLICT, "Base.1.12.ResourceInUse", text, &[])
}
