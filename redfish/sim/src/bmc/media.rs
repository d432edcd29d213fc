//! Virtual media as the BMC shows and changes them.

use std::time::Duration;

use http::{StatusCode, header};
use serde_json::{Map, Value, json};

use super::access::Who;
use super::answer::{Answer, Request};
use super::boot::success;
use super::resource::{self, Resource};
use super::root::set;
use super::{Bmc, not_allowed, object};
use crate::clock::Moment;
use crate::machine::media::Slot;
use crate::profiles::habits::{EmptyImage, Home, MediaControl, MediaReply};

const INSERT: &str = "VirtualMedia.InsertMedia";
/// What InsertMedia may be given.
const PARAMETERS: [&str; 7] =
    ["Image", "Inserted", "WriteProtected", "TransferMethod", "TransferProtocolType", "UserName", "Password"];

impl Bmc {
    pub(super) fn media_collection(&self, home: Home) -> Value {
        let slots = self.profile.media.slots.iter().enumerate();
        let members: Vec<Resource> =
            slots.filter(|(_, slot)| slot.home == home).map(|(i, _)| Resource::Media(i)).collect();
        self.collection("VirtualMedia", &Resource::MediaOf(home), &members)
    }

    pub(super) fn media(&self, slot: usize, now: Moment, lies: bool) -> Option<Value> {
        let kind = self.profile.media.slots.get(slot)?;
        let state = self.virtual_drive(slot)?;
        let shown = state.shown(now);
        let shown = if lies { shown.is_none().then_some("http://192.0.2.1/not-there.iso") } else { shown };
        let inserted = shown.is_some();
        let mut body = json!({
            "@odata.id": resource::path(self.profile, &Resource::Media(slot)),
            "@odata.type": format!("#VirtualMedia.{}.VirtualMedia", self.profile.schemas.media),
            "Id": kind.id,
            "Name": format!("Virtual Media {}", kind.id),
            "Inserted": inserted,
            "WriteProtected": state.write_protected,
            "ConnectedVia": if inserted { "URI" } else { "NotConnected" },
            "Actions": self.media_actions(slot, inserted),
        });
        if !kind.types.is_empty() {
            set(&mut body, "MediaTypes", json!(kind.types));
        }
        match (shown, self.profile.media.empty) {
            (Some(image), _) => {
                set(&mut body, "Image", json!(image));
                set(&mut body, "ImageName", json!(image.rsplit('/').next()));
            }
            (None, EmptyImage::Null) => {
                set(&mut body, "Image", Value::Null);
                set(&mut body, "ImageName", Value::Null);
            }
            (None, EmptyImage::EmptyString) => set(&mut body, "Image", json!("")),
            (None, EmptyImage::Absent) => (),
        }
        Some(body)
    }

    fn media_actions(&self, slot: usize, inserted: bool) -> Value {
        let usable = self.profile.media.slots.get(slot).is_some_and(|kind| kind.usable);
        let insert = json!({ "target": resource::path(self.profile, &Resource::Insert(slot)) });
        let eject = json!({ "target": resource::path(self.profile, &Resource::Eject(slot)) });
        match self.profile.media.control {
            MediaControl::Patch => json!({}),
            MediaControl::Actions | MediaControl::EjectWhenInserted if !usable => json!({}),
            MediaControl::EjectWhenInserted if !inserted => json!({ "#VirtualMedia.InsertMedia": insert }),
            MediaControl::Actions | MediaControl::EjectWhenInserted => {
                json!({ "#VirtualMedia.InsertMedia": insert, "#VirtualMedia.EjectMedia": eject })
            }
        }
    }

    pub(super) fn insert_media(&mut self, request: &Request, slot: usize, who: &Who, now: Moment) -> Answer {
        let habits = &self.profile.media;
        if !self.is_usable(slot) {
            return not_allowed(&request.method, &[]);
        }
        let Some(body) = object(&request.body) else { return Answer::malformed() };
        let refused = ["Inserted", "WriteProtected"].into_iter().find(|key| body.contains_key(*key));
        if let Some(key) = refused.filter(|_| habits.refuses_inserted) {
            return unknown_parameter(key);
        }
        if let Some(key) = body.keys().find(|key| !PARAMETERS.contains(&key.as_str())) {
            return unknown_parameter(key);
        }
        let Some(image) = body.get("Image").and_then(Value::as_str) else {
            return Answer::missing_parameter(INSERT, "Image");
        };
        if let Some(refusal) = self.refuse_image(slot, image, now) {
            return refusal;
        }
        let (ready, answer) = self.media_reply("Insert virtual media", now);
        self.machine.insert(now, who, self.place(slot), image, ready);
        answer
    }

    pub(super) fn eject_media(&mut self, request: &Request, slot: usize, who: &Who, now: Moment) -> Answer {
        let habits = &self.profile.media;
        if !self.is_usable(slot) {
            return not_allowed(&request.method, &[]);
        }
        if habits.eject_wants_body && object(&request.body).is_none() {
            return Answer::error(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Base.1.12.UnrecognizedRequestBody",
                "The service detected a malformed request body that it was unable to interpret.",
                &[],
            );
        }
        let shown = self.virtual_drive(slot).and_then(|drive| drive.shown(now)).is_some();
        if habits.control == MediaControl::EjectWhenInserted && !shown {
            return Answer::not_found(&request.path);
        }
        let lingers = now.saturating_add(self.pace.of(habits.lingers));
        self.machine.eject(now, who, self.place(slot), lingers);
        self.media_reply("Eject virtual media", now).1
    }

    /// PATCH, where media are changed by it.
    pub(super) fn patch_media(
        &mut self,
        slot: usize,
        body: &Map<String, Value>,
        who: &Who,
        now: Moment,
    ) -> Answer {
        if let Some(key) = body.keys().find(|key| !PARAMETERS.contains(&key.as_str())) {
            return Answer::unknown_property(key);
        }
        if !self.is_usable(slot) {
            return Answer::not_writable("Image");
        }
        let inserted = body.get("Inserted").and_then(Value::as_bool);
        let lingers = now.saturating_add(self.pace.of(self.profile.media.lingers));
        match (body.get("Image"), inserted) {
            (Some(Value::Null), _) | (None, Some(false)) => {
                self.machine.eject(now, who, self.place(slot), lingers);
            }
            (Some(Value::String(image)), Some(true)) => {
                if let Some(refusal) = self.refuse_image(slot, image, now) {
                    return refusal;
                }
                self.machine.insert(now, who, self.place(slot), image, now);
            }
            (Some(_), Some(false) | None) => return Answer::not_in_list("Inserted", "false"),
            (Some(other), Some(true)) => return Answer::not_in_list("Image", &other.to_string()),
            (None, Some(true) | None) => return Answer::missing_parameter(INSERT, "Image"),
        }
        self.changed(&Resource::Media(slot), now)
    }

    /// The drive of the machine behind a slot: some slots are only other names of one.
    fn place(&self, slot: usize) -> usize {
        self.profile.media.slots.get(slot).and_then(|kind| kind.same_as).unwrap_or(slot)
    }

    fn virtual_drive(&self, slot: usize) -> Option<&Slot> {
        self.machine.slots().get(self.place(slot))
    }

    fn is_usable(&self, slot: usize) -> bool {
        self.profile.media.slots.get(slot).is_some_and(|kind| kind.usable)
    }

    fn refuse_image(&self, slot: usize, image: &str, now: Moment) -> Option<Answer> {
        let state = self.virtual_drive(slot)?;
        let is_http = image.starts_with("http://") || image.starts_with("https://");
        if !is_http {
            let text = format!(
                "The value '{image}' for the property Image is of a different format than the property can accept."
            );
            let id = "Base.1.12.PropertyValueFormatError";
            return Some(Answer::error(StatusCode::BAD_REQUEST, id, &text, &[image, "Image"]));
        }
        if self.profile.media.refuses_https && image.starts_with("https://") {
            let text = "The certificate of the image's server could not be verified.";
            return Some(Answer::error(StatusCode::BAD_REQUEST, "Base.1.12.AccessDenied", text, &[image]));
        }
        if state.image.is_some() {
            let text = "The slot holds an image already: eject it first.";
            return Some(Answer::error(StatusCode::CONFLICT, "Base.1.12.ResourceInUse", text, &[]));
        }
        state.shown(now).is_some().then(|| {
            let text =
                "The request failed due to an internal service error. The service is still operational.";
            Answer::error(StatusCode::INTERNAL_SERVER_ERROR, "Base.1.12.InternalError", text, &[])
        })
    }

    /// What a change is answered with, and from when it is seen.
    fn media_reply(&mut self, name: &'static str, now: Moment) -> (Moment, Answer) {
        match self.profile.media.reply {
            MediaReply::NoContent => (now, Answer::empty(StatusCode::NO_CONTENT)),
            MediaReply::SuccessMessage => (now, success()),
            MediaReply::Accepted { location, takes } => {
                let takes = self.pace.of(takes);
                let task = self.tasks.begin(now, name, Duration::ZERO, takes);
                let at = Resource::Task(task.id);
                let path = resource::path(self.profile, &at);
                let body = self.read(&at, now, false).unwrap_or(Value::Null);
                let answer = Answer::json(StatusCode::ACCEPTED, body);
                let answer = if location { answer.with(header::LOCATION, &path) } else { answer };
                (now.saturating_add(takes), answer)
            }
        }
    }
}

fn unknown_parameter(key: &str) -> Answer {
    let text = format!("The action {INSERT} was submitted with the invalid parameter {key}.");
    Answer::error(StatusCode::BAD_REQUEST, "Base.1.12.ActionParameterUnknown", &text, &[INSERT, key])
}
