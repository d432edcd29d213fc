//! What a firmware starts: the override, what it leads to, and what is left when it leads nowhere.

use std::collections::VecDeque;

use super::boot::{self, BootSource, Override, OverrideEnabled, Target};
use super::log::Action;
use super::power::Phase;
use super::{Effect, ITSELF, Machine};
use crate::clock::Moment;

impl Machine {
    /// The end of POST: the override, if it is obeyed and leads anywhere, else the usual order.
    pub(super) fn choose(&mut self, at: Moment) {
        let told = self.boot.clone();
        if told.enabled == OverrideEnabled::Once {
            self.boot = Override { mode: told.mode.clone(), ..Override::default() };
            self.log.add(at, ITSELF, Action::OverrideConsumed);
        }
        let sources = if told.enabled == OverrideEnabled::Disabled || !told.obeyed {
            VecDeque::new()
        } else {
            self.sources_of(at, &told)
        };
        self.try_each(at, sources);
    }

    /// Starts the first that can be started. Whether a medium can, its first bytes tell, which are read outside.
    pub(super) fn try_each(&mut self, at: Moment, mut sources: VecDeque<BootSource>) {
        match sources.pop_front() {
            Some(BootSource::Setup) => self.enter(at, Phase::InFirmware),
            Some(source) => match source.url().map(str::to_owned) {
                Some(url) => self.load(at, source, url, sources),
                None => self.start(at, source),
            },
            None => self.boot_without_override(at),
        }
    }

    /// What an override leads to. A target like "CD" means any of the drives.
    fn sources_of(&self, at: Moment, told: &Override) -> VecDeque<BootSource> {
        let one = match told.target {
            Target::Cd | Target::UsbCd | Target::Usb => {
                let media = self.inserted(at).map(|(slot, image)| BootSource::Media { slot, image });
                return media.collect();
            }
            Target::UefiTarget => return self.started_by_path(at, told.uefi_target.as_deref()),
            Target::Pxe => Some(BootSource::Network),
            Target::UefiHttp => told.http_uri.clone().map(|uri| BootSource::Http { uri }),
            Target::Hdd => self.disk.clone().map(|installed| BootSource::Disk { installed }),
            Target::BiosSetup | Target::Diags | Target::Utilities => Some(BootSource::Setup),
            Target::None | Target::Floppy | Target::SDCard => None,
        };
        one.into_iter().collect()
    }

    /// A loader of removable media needs some; any other path is believed.
    fn started_by_path(&self, at: Moment, path: Option<&str>) -> VecDeque<BootSource> {
        let Some(path) = path else { return VecDeque::new() };
        let path = path.to_owned();
        if !boot::is_removable_loader(&path) {
            return VecDeque::from([BootSource::DevicePath { path }]);
        }
        let from = |(slot, image)| BootSource::MediaFile { slot, image, path: path.clone() };
        self.inserted(at).map(from).collect()
    }

    /// The slots that something may be booted from.
    fn inserted(&self, at: Moment) -> impl Iterator<Item = (String, String)> {
        self.slots.iter().filter_map(move |slot| Some((slot.id.clone(), slot.bootable(at)?.to_owned())))
    }

    fn boot_without_override(&mut self, at: Moment) {
        match self.disk.clone() {
            Some(installed) => self.start(at, BootSource::Disk { installed }),
            None => self.start(at, BootSource::Network),
        }
    }

    fn load(&mut self, at: Moment, source: BootSource, url: String, others: VecDeque<BootSource>) {
        // Real firmware tries its drives by itself.
        if self.outside {
            return self.hand_over(at, source);
        }
        self.attempts += 1;
        self.effects.push(Effect::Read { attempt: self.attempts, url });
        self.enter(at, Phase::Loading { attempt: self.attempts, source, others });
    }

    pub(super) fn start(&mut self, at: Moment, source: BootSource) {
        if self.outside {
            return self.hand_over(at, source);
        }
        let until = Some(at.saturating_add(self.timing.os_start));
        self.enter(at, Phase::Starting { until, source });
    }
}
