//! What a module needs (`modules.dep`), and what the kernel has without any (`modules.builtin`).

use std::collections::{HashMap, HashSet};

use super::normal;

/// Nobody needs these on a machine without people, and a graphics driver without its firmware darkens the screen.
const LEFT_OUT: [&str; 3] = ["kernel/drivers/gpu/", "kernel/drivers/media/", "kernel/sound/"];

/// The modules of a kernel.
#[derive(Debug, Default)]
pub struct Modules {
    known: HashMap<String, Module>,
    built_in: HashSet<String>,
}

#[derive(Debug)]
struct Module {
    path: String,
    needs: Vec<String>,
    /// What it would like to be loaded before it.
    wishes: Vec<String>,
}

/// A module that is needed, and not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("module {0} is not in the ramdisk")]
pub struct Missing(pub String);

impl Modules {
    /// Reads both tables.
    #[must_use]
    pub fn parse(dependencies: &str, built_in: &str) -> Self {
        let lines = dependencies.lines().filter_map(|line| line.split_once(':'));
        let lines = lines.filter(|(path, _)| !LEFT_OUT.iter().any(|left_out| path.starts_with(left_out)));
        let module = |(path, needs): (&str, &str)| {
            let needs = needs.split_ascii_whitespace().map(name_of).collect();
            (name_of(path), Module { path: uncompressed(path), needs, wishes: Vec::new() })
        };
        Self {
            known: lines.map(module).collect(),
            built_in: built_in.lines().filter(|line| !line.is_empty()).map(name_of).collect(),
        }
    }

    /// The same, with what modules would like to be loaded before them.
    #[must_use]
    pub fn wishing(mut self, mut wishes: HashMap<String, Vec<String>>) -> Self {
        for (name, module) in &mut self.known {
            module.wishes = wishes.remove(name).unwrap_or_default();
        }
        self
    }

    /// Where a module is, if there is one of this name.
    #[must_use]
    pub fn path_of(&self, name: &str) -> Option<&str> {
        self.known.get(&normal(name)).map(|module| module.path.as_str())
    }

    /// What is loaded for a module, in order, each by its name and its path: what is needed first, itself last.
    ///
    /// # Errors
    /// Something that is needed is not there.
    pub fn in_order(&self, name: &str) -> Result<Vec<(String, String)>, Missing> {
        let (mut order, mut visited) = (Vec::new(), HashSet::new());
        self.visit(&normal(name), &mut visited, &mut order)?;
        Ok(order)
    }

    fn visit(
        &self,
        name: &str,
        visited: &mut HashSet<String>,
        order: &mut Vec<(String, String)>,
    ) -> Result<(), Missing> {
        if self.built_in.contains(name) || !visited.insert(name.to_owned()) {
            return Ok(());
        }
        let module = self.known.get(name).ok_or_else(|| Missing(name.to_owned()))?;
        // `depmod` names what is needed first last.
        for needed in module.needs.iter().rev() {
            self.visit(needed, visited, order)?;
        }
        for wished in module.wishes.iter().filter(|wished| self.known.contains_key(*wished)) {
            // It goes without what can't be had.
            let _had = self.visit(wished, visited, order);
        }
        order.push((name.to_owned(), module.path.clone()));
        Ok(())
    }
}

/// `kernel/drivers/net/virtio-net.ko.xz` is virtio_net.
fn name_of(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    normal(file.split_once(".ko").map_or(file, |(name, _)| name))
}

/// Modules in the ramdisk are not compressed, whatever the table says of those that it was made for.
fn uncompressed(path: &str) -> String {
    path.split_once(".ko").map_or_else(|| path.to_owned(), |(start, _)| format!("{start}.ko"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "kernel/net/core/failover.ko:\n\
        kernel/drivers/net/net_failover.ko: kernel/net/core/failover.ko\n\
        kernel/drivers/net/virtio-net.ko.xz: kernel/drivers/net/net_failover.ko.xz kernel/net/core/failover.ko.xz\n\
        kernel/drivers/net/direct.ko: kernel/drivers/net/net_failover.ko kernel/lib/crc16.ko\n\
        kernel/drivers/net/alone.ko: kernel/lib/nowhere.ko\n\
        kernel/a.ko: kernel/b.ko\n\
        kernel/b.ko: kernel/a.ko\n\
        kernel/drivers/gpu/drm/ast/ast.ko:\n";

    #[test]
    fn what_is_needed_comes_first() {
        let modules = Modules::parse(TABLE, "kernel/lib/crc16.ko\n");
        for (name, expected) in [
            ("failover", vec!["kernel/net/core/failover.ko"]),
            (
                "virtio_net",
                vec![
                    "kernel/net/core/failover.ko",
                    "kernel/drivers/net/net_failover.ko",
                    "kernel/drivers/net/virtio-net.ko",
                ],
            ),
            // Only what is needed itself is named, and something of it is in the kernel.
            (
                "direct",
                vec![
                    "kernel/net/core/failover.ko",
                    "kernel/drivers/net/net_failover.ko",
                    "kernel/drivers/net/direct.ko",
                ],
            ),
            ("crc16", vec![]),
            // What needs each other does not go on for ever.
            ("a", vec!["kernel/b.ko", "kernel/a.ko"]),
        ] {
            let order = modules.in_order(name).unwrap();
            let paths: Vec<&str> = order.iter().map(|(_, path)| path.as_str()).collect();
            assert_eq!(paths, expected, "{name}");
        }
        assert_eq!(modules.in_order("virtio-net"), modules.in_order("virtio_net"));
        assert_eq!(modules.path_of("virtio_net"), Some("kernel/drivers/net/virtio-net.ko"));
        assert_eq!((modules.path_of("crc16"), modules.path_of("ast")), (None, None));
    }

    #[test]
    fn what_is_not_there_is_told() {
        let modules = Modules::parse(TABLE, "");
        for (name, missing) in
            [("nothing", "nothing"), ("alone", "nowhere"), ("direct", "crc16"), ("ast", "ast")]
        {
            assert_eq!(modules.in_order(name), Err(Missing(missing.to_owned())));
        }
    }
}
