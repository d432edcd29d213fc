//! The lists that depmod makes of a tree of modules: what needs what, what is called how, what is built in.

use std::collections::{BTreeMap, BTreeSet};

use super::unpack::Packing;

/// What the lists say.
#[derive(Debug, Default)]
pub struct Index {
    /// `modules.dep`: by path, the paths of all that a module needs.
    needs: BTreeMap<String, Vec<String>>,
    /// The paths of all modules, by name.
    by_name: BTreeMap<String, String>,
    aliases: String,
    soft: String,
    builtin: String,
}

/// The lists of the ramdisk, by their names.
pub type Lists = Vec<(&'static str, String)>;

impl Index {
    /// Reads the texts of `modules.dep`, `modules.alias`, `modules.softdep` and `modules.builtin`.
    #[must_use]
    pub fn new(needs: &str, aliases: String, soft: String, builtin: String) -> Self {
        let lines = needs.lines().filter_map(|line| line.split_once(':'));
        let needs: BTreeMap<String, Vec<String>> = lines
            .map(|(path, needs)| (path.to_owned(), needs.split_whitespace().map(str::to_owned).collect()))
            .collect();
        let by_name = needs.keys().map(|path| (name_of(path), path.clone())).collect();
        Self { needs, by_name, aliases, soft, builtin }
    }

    /// The paths of all modules.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.needs.keys().map(String::as_str)
    }

    /// The paths of what the kernel has built in.
    pub fn builtin(&self) -> impl Iterator<Item = &str> {
        self.builtin.lines()
    }

    /// The path of a module, by its name. Dashes and underscores are the same to the kernel.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<&str> {
        self.by_name.get(&name.replace('-', "_")).map(String::as_str)
    }

    /// Whether the kernel has it built in.
    #[must_use]
    pub fn is_builtin(&self, name: &str) -> bool {
        self.builtin().any(|path| name_of(path) == name.replace('-', "_"))
    }

    /// These modules and all that they need: certainly (`modules.dep`) and if it is there (`modules.softdep`).
    #[must_use]
    pub fn with_needs<'a>(&'a self, chosen: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
        let soft = self.soft_needs();
        let mut waiting: Vec<&str> = chosen.into_iter().collect();
        let mut all = BTreeSet::new();
        while let Some(path) = waiting.pop() {
            if !all.insert(path) {
                continue;
            }
            waiting.extend(self.needs.get(path).into_iter().flatten().map(String::as_str));
            for wanted in soft.get(name_of(path).as_str()).into_iter().flatten() {
                waiting.extend(self.called(wanted));
            }
        }
        all
    }

    /// What a module would like to be loaded before or behind it: a name or an alias each.
    fn soft_needs(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut soft: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in self.soft.lines() {
            let mut words = line.split_whitespace();
            if let (Some("softdep"), Some(module)) = (words.next(), words.next()) {
                let wanted = words.filter(|word| !["pre:", "post:"].contains(word));
                soft.entry(module).or_default().extend(wanted);
            }
        }
        soft
    }

    /// The modules of a name, or of an alias that is exactly this.
    fn called(&self, name: &str) -> Vec<&str> {
        if let Some(path) = self.path(name) {
            return vec![path];
        }
        let aliased = self.aliases.lines().filter_map(|line| {
            let (alias, module) = line.strip_prefix("alias ")?.split_once(' ')?;
            (alias == name).then_some(module)
        });
        aliased.filter_map(|module| self.path(module)).collect()
    }

    /// The lists of what is taken, with the paths of unpacked modules.
    #[must_use]
    pub fn lists(&self, taken: &BTreeSet<&str>) -> Lists {
        let names: BTreeSet<String> = taken.iter().map(|path| name_of(path)).collect();
        // The module is the last word of an alias, and the second one of a soft dependency.
        let alias = |line: &&str| {
            line.starts_with("alias ") && line.rsplit(' ').next().is_some_and(|name| names.contains(name))
        };
        let soft = |line: &&str| {
            line.starts_with("softdep ") && line.split(' ').nth(1).is_some_and(|name| names.contains(name))
        };
        let lines = |lines: Vec<&str>| lines.into_iter().map(|line| format!("{line}\n")).collect();
        vec![
            ("modules.alias", lines(self.aliases.lines().filter(alias).collect())),
            ("modules.builtin", lines(self.builtin.lines().collect())),
            ("modules.dep", self.dependencies(taken)),
            ("modules.softdep", lines(self.soft.lines().filter(soft).collect())),
        ]
    }

    fn dependencies(&self, taken: &BTreeSet<&str>) -> String {
        let line = |path: &&str| {
            let needs = self.needs.get(*path).into_iter().flatten();
            let needs: String = needs.map(|needed| format!(" {}", plain(needed))).collect();
            format!("{}:{needs}\n", plain(path))
        };
        taken.iter().map(line).collect()
    }
}

/// The path of a module when it is unpacked.
#[must_use]
pub fn plain(path: &str) -> &str {
    Packing::of(path).map_or(path, |(_, plain)| plain)
}

/// What the kernel calls the module of a path.
#[must_use]
pub fn name_of(path: &str) -> String {
    let file = plain(path).rsplit('/').next().unwrap_or(path);
    file.strip_suffix(".ko").unwrap_or(file).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDS: &str = "kernel/d/virtio_net.ko.xz: kernel/d/net_failover.ko.xz kernel/n/failover.ko.xz\n\
        kernel/d/net_failover.ko.xz: kernel/n/failover.ko.xz\nkernel/n/failover.ko.xz:\nkernel/l/libcrc32c.ko.xz:\n\
        kernel/c/crc32c-intel.ko.xz:\nkernel/c/crc32c_generic.ko.xz:\nkernel/x/other.ko.xz:\n";

    fn index() -> Index {
        let aliases = "# made\nalias virtio:d00000001v* virtio_net\nalias crc32c crc32c_intel\nalias crc32c crc32c_generic\n\
            alias pci:v*other* other\n";
        let soft = "# made\nsoftdep libcrc32c pre: crc32c\nsoftdep other post: virtio_net\n";
        Index::new(NEEDS, aliases.to_owned(), soft.to_owned(), "kernel/b/built-in.ko\n".to_owned())
    }

    #[test]
    fn what_is_needed_comes_along() {
        let index = index();
        for (name, all) in [
            ("virtio-net", vec!["net_failover", "virtio_net", "failover"]),
            ("net_failover", vec!["net_failover", "failover"]),
            ("libcrc32c", vec!["crc32c_intel", "crc32c_generic", "libcrc32c"]),
            ("other", vec!["net_failover", "virtio_net", "failover", "other"]),
        ] {
            let taken = index.with_needs([index.path(name).unwrap()]);
            assert_eq!(taken.into_iter().map(name_of).collect::<Vec<_>>(), all);
        }
    }

    #[test]
    fn the_lists_name_what_is_taken_unpacked_and_nothing_else() {
        let index = index();
        let taken = index.with_needs(["virtio_net", "libcrc32c"].map(|name| index.path(name).unwrap()));
        let lists: BTreeMap<_, _> = index.lists(&taken).into_iter().collect();
        assert_eq!(
            lists["modules.dep"],
            "kernel/c/crc32c-intel.ko:\nkernel/c/crc32c_generic.ko:\nkernel/d/net_failover.ko: kernel/n/failover.ko\n\
             kernel/d/virtio_net.ko: kernel/d/net_failover.ko kernel/n/failover.ko\nkernel/l/libcrc32c.ko:\n\
             kernel/n/failover.ko:\n"
        );
        assert_eq!(
            lists["modules.alias"],
            "alias virtio:d00000001v* virtio_net\nalias crc32c crc32c_intel\nalias crc32c crc32c_generic\n"
        );
        assert_eq!(lists["modules.softdep"], "softdep libcrc32c pre: crc32c\n");
        assert_eq!(lists["modules.builtin"], "kernel/b/built-in.ko\n");
    }

    #[test]
    fn names_are_found_with_dashes_and_underscores() {
        let index = index();
        assert_eq!(index.path("crc32c-intel"), index.path("crc32c_intel"));
        assert!(index.path("crc32c-intel").is_some() && index.path("absent").is_none());
        assert!(index.is_builtin("built_in") && index.is_builtin("built-in") && !index.is_builtin("other"));
    }
}
