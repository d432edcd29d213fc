//! Rock Ridge: the names that Unix systems see, in fields behind a directory record.
//!
//! Fields that continue elsewhere are not followed: only very long names have any, and boot loader configuration does not.

use crate::overlay::fields::{at, u8_at};

/// What the fields of a record say.
#[derive(Debug, Default)]
pub struct Fields {
    /// The name.
    pub name: Option<String>,
    /// The content is elsewhere, or compressed.
    pub moved: bool,
}

/// How many bytes are left free before the fields of each record, by the root directory's own record. Nothing when
/// there is no Rock Ridge.
pub fn skip(root: &[u8]) -> Option<usize> {
    let record = root.get(..usize::from(u8_at(root, 0)?))?;
    let name_length = usize::from(u8_at(record, 32)?);
    let system_use = record.get(33 + name_length + (name_length + 1) % 2..)?;
    let is_sp = at(system_use, 0, 2)? == b"SP" && at(system_use, 4, 2)? == [0xBE, 0xEF];
    is_sp.then(|| u8_at(system_use, 6).map(usize::from)).flatten()
}

/// Reads the fields of a record.
pub fn fields(mut system_use: &[u8]) -> Option<Fields> {
    let mut fields = Fields::default();
    let mut name: Option<Vec<u8>> = None;
    while let Some(length) = u8_at(system_use, 2).map(usize::from) {
        let Some(field) = system_use.get(..length).filter(|_| length >= 4) else { break };
        match field.get(..2) {
            // Flags that say `.` or `..` stand for no name of their own.
            Some(b"NM") if u8_at(field, 4).is_some_and(|flags| flags & 6 == 0) => {
                name.get_or_insert_default().extend_from_slice(field.get(5..).unwrap_or_default());
            }
            Some(b"CL" | b"RE" | b"ZF") => fields.moved = true,
            Some(b"ST") => break,
            Some(_) | None => {}
        }
        system_use = system_use.get(length..).unwrap_or_default();
    }
    fields.name =
        name.filter(|name| !name.is_empty()).map(|name| String::from_utf8_lossy(&name).into_owned());
    Some(fields)
}
