//! Disks in memory that fail, lie and tell what was done with them.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use beskar7_agent_device::{
    DeviceError,
    ata::Security,
    nvme::{Abilities, Erase, Sanitize, SanitizeState},
};
use beskar7_agent_protocol::hardware::Disk;

use crate::cleaning::{
    device::{Ata, Device, Devices, Nvme},
    spans::Span,
};

/// What a command to erase does to the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Zeros,
    Noise,
    /// It says that all is well, and does nothing.
    Nothing,
    Refused,
}

/// How a disk behaves.
#[derive(Debug, Clone)]
pub struct Nature {
    pub bad_write: Option<u64>,
    pub bad_read: Option<u64>,
    /// Writes here are said to be done, and are not.
    pub forgets: Option<u64>,
    pub punch: Effect,
    pub nvme: Option<Abilities>,
    pub format: Effect,
    pub crypto_format: Effect,
    pub sanitize: Effect,
    pub sanitizing: SanitizeState,
    pub ata: Option<Security>,
    /// Whether its password is ours.
    pub ours: bool,
    pub enhanced: Effect,
    pub erase: Effect,
    /// Whether it takes a password, and its answer is lost.
    pub loses_answer: bool,
    /// So many times it does not let go of its password.
    pub clings: usize,
    /// Whether it says that its password is gone, and keeps it.
    pub lies_of_password: bool,
    pub busy: bool,
}

impl Default for Nature {
    fn default() -> Self {
        Self {
            bad_write: None,
            bad_read: None,
            forgets: None,
            punch: Effect::Zeros,
            nvme: None,
            format: Effect::Zeros,
            crypto_format: Effect::Noise,
            sanitize: Effect::Zeros,
            sanitizing: SanitizeState::Never,
            ata: None,
            ours: true,
            enhanced: Effect::Zeros,
            erase: Effect::Zeros,
            loses_answer: false,
            clings: 0,
            lies_of_password: false,
            busy: false,
        }
    }
}

/// A disk's content and nature, and what was done.
pub struct State {
    pub content: Vec<u8>,
    pub nature: Nature,
    pub done: Vec<&'static str>,
}

#[derive(Clone)]
pub struct Fake(Arc<Mutex<State>>);

fn place(at: u64) -> usize {
    usize::try_from(at).unwrap()
}

fn refused(command: &'static str) -> DeviceError {
    DeviceError::Refused { command, reason: "no".into() }
}

impl Fake {
    /// A disk that is full of something.
    pub fn new(size: u64, nature: Nature) -> Self {
        Self(Arc::new(Mutex::new(State { content: vec![0xa5; place(size)], nature, done: Vec::new() })))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub fn done(&self) -> Vec<&'static str> {
        self.state().done.clone()
    }

    /// Whether a place reads as zeros.
    pub fn is_zero(&self, start: u64, end: u64) -> bool {
        self.state().content[place(start)..place(end)] == vec![0; place(end - start)]
    }

    fn affect(&self, command: &'static str, effect: Effect) -> Result<(), DeviceError> {
        let mut state = self.state();
        state.done.push(command);
        match effect {
            Effect::Zeros => state.content.fill(0),
            Effect::Noise => {
                state.content.iter_mut().enumerate().for_each(|(at, byte)| *byte = at as u8 ^ 0x5c)
            }
            Effect::Nothing => {}
            Effect::Refused => return Err(refused(command)),
        }
        Ok(())
    }
}

fn touches(bad: Option<u64>, at: u64, length: usize) -> bool {
    bad.is_some_and(|bad| (at..at + length as u64).contains(&bad))
}

impl Device for Fake {
    fn size(&self) -> io::Result<u64> {
        Ok(self.state().content.len() as u64)
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if touches(state.nature.bad_read, at, buffer.len()) {
            return Err(io::Error::other("medium error"));
        }
        buffer.copy_from_slice(&state.content[place(at)..place(at) + buffer.len()]);
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let locked = state.nature.ata.is_some_and(|security| security.locked);
        if locked || touches(state.nature.bad_write, at, bytes.len()) {
            return Err(io::Error::other("medium error"));
        }
        if !touches(state.nature.forgets, at, bytes.len()) {
            state.content[place(at)..place(at) + bytes.len()].copy_from_slice(bytes);
        }
        Ok(())
    }

    fn settle(&self) -> io::Result<()> {
        Ok(())
    }

    fn punch(&self, at: u64, length: u64) -> io::Result<()> {
        let effect = self.state().nature.punch;
        match effect {
            Effect::Zeros => self.state().content[place(at)..place(at + length)].fill(0),
            Effect::Noise => self.state().content[place(at)..place(at + length)].fill(0xff),
            Effect::Nothing => {}
            Effect::Refused => return Err(io::ErrorKind::Unsupported.into()),
        }
        self.state().done.push("punch");
        Ok(())
    }

    fn discard(&self, _at: u64, _length: u64) -> Result<(), DeviceError> {
        self.affect("discard", Effect::Nothing)
    }

    fn reread_partitions(&self) -> Result<(), DeviceError> {
        let effect = if self.state().nature.busy { Effect::Refused } else { Effect::Nothing };
        self.affect("reread", effect)
    }

    fn nvme(&self) -> Option<&dyn Nvme> {
        self.state().nature.nvme.is_some().then_some(self)
    }

    fn ata(&self) -> Option<&dyn Ata> {
        self.state().nature.ata.is_some().then_some(self)
    }
}

impl Nvme for Fake {
    fn abilities(&self) -> Result<Abilities, DeviceError> {
        Ok(self.state().nature.nvme.unwrap())
    }

    fn format(&self, erase: Erase) -> Result<(), DeviceError> {
        let nature = self.state().nature.clone();
        match erase {
            Erase::UserData => self.affect("format", nature.format),
            Erase::Crypto => self.affect("crypto format", nature.crypto_format),
        }
    }

    fn sanitize(&self, how: Sanitize) -> Result<(), DeviceError> {
        let name = match how {
            Sanitize::Block => "sanitize",
            Sanitize::Crypto => "crypto sanitize",
            Sanitize::GiveUp => return self.affect("give up", Effect::Nothing),
        };
        let effect = self.state().nature.sanitize;
        self.affect(name, effect)?;
        self.state().nature.sanitizing = SanitizeState::Running(0);
        Ok(())
    }

    /// Each look finds it a third further.
    fn sanitize_state(&self) -> Result<SanitizeState, DeviceError> {
        let mut state = self.state();
        let now = state.nature.sanitizing;
        if let SanitizeState::Running(part) = now {
            state.done.push("wait");
            state.nature.sanitizing =
                part.checked_add(0x5555).map_or(SanitizeState::Done, SanitizeState::Running);
        }
        Ok(now)
    }
}

impl Fake {
    fn change_security(
        &self,
        command: &'static str,
        change: impl FnOnce(&mut Security),
    ) -> Result<(), DeviceError> {
        let mut state = self.state();
        state.done.push(command);
        if !state.nature.ours {
            return Err(refused(command));
        }
        change(state.nature.ata.as_mut().unwrap());
        Ok(())
    }
}

impl Ata for Fake {
    fn security(&self) -> Result<Security, DeviceError> {
        Ok(self.state().nature.ata.unwrap())
    }

    fn set_password(&self) -> Result<(), DeviceError> {
        self.change_security("set password", |security| security.enabled = true)?;
        if self.state().nature.loses_answer { Err(refused("set password")) } else { Ok(()) }
    }

    fn erase(&self, enhanced: bool, limit: Duration) -> Result<(), DeviceError> {
        assert!(limit >= Duration::from_secs(7200));
        let nature = self.state().nature.clone();
        let (name, effect) =
            if enhanced { ("enhanced erase", nature.enhanced) } else { ("erase", nature.erase) };
        self.affect(name, effect)?;
        self.state().nature.ata.as_mut().unwrap().enabled = false;
        Ok(())
    }

    fn unlock(&self) -> Result<(), DeviceError> {
        self.change_security("unlock", |security| security.locked = false)
    }

    fn disable_password(&self) -> Result<(), DeviceError> {
        let nature = self.state().nature.clone();
        if nature.clings > 0 {
            self.state().nature.clings -= 1;
            return self.affect("disable password", Effect::Refused);
        }
        let lies = nature.lies_of_password;
        self.change_security("disable password", |security| security.enabled = lies)
    }
}

/// Some disks, by path.
#[derive(Default)]
pub struct Fakes {
    pub disks: BTreeMap<String, Fake>,
    pub partitions: Vec<Span>,
}

impl Devices for Fakes {
    fn open(&self, disk: &Disk) -> io::Result<Box<dyn Device>> {
        let fake = self.disks.get(&disk.path).cloned();
        fake.map(|fake| Box::new(fake) as Box<dyn Device>).ok_or_else(|| io::ErrorKind::ResourceBusy.into())
    }

    fn partitions(&self, _disk: &Disk) -> io::Result<Vec<Span>> {
        Ok(self.partitions.clone())
    }

    fn pause(&self) {}
}
