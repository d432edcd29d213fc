"""Drives one BMC with sushy step by step, and says what became of each.

    drive.py URL USER PASSWORD IMAGE STEP…

It prints a JSON object a line: the step, and what went wrong with it or null. A step that fails does not end the
rest, so that one look shows all that a BMC and sushy do not do together.
"""

import json
import sys
import time

import sushy
from sushy import auth
from sushy import exceptions

LIMIT = 60


class NoInternet:
    """sushy looks for message registries at dmtf.org unless told otherwise; a test stays on its machine."""

    def get(self, *args, **kwargs):
        raise exceptions.ConnectionError(url="the Internet", error="this test stays on its machine")


def until(what, look):
    """Looks until it is as wanted, and says what was awaited if it never is."""
    end = time.monotonic() + LIMIT
    while not look():
        if time.monotonic() > end:
            raise TimeoutError(f"waited in vain for {what}")
        time.sleep(0.1)


class Drive:
    def __init__(self, url, user, password, image):
        self.url, self.user, self.password, self.image = url, user, password, image
        self.auth = auth.SessionAuth(user, password)
        self.root = self.system = self.slot = None

    def log_in(self):
        self.root = sushy.Sushy(self.url, auth=self.auth, public_connector=NoInternet(), server_side_retries=0)
        if not self.auth.get_session_key():
            raise RuntimeError("there is no session")

    def find_system(self):
        systems = [s for s in self.root.get_system_collection().get_members() if s.json.get("Actions")]
        (self.system,) = [s for s in systems if "#ComputerSystem.Reset" in s.json["Actions"]]

    def inventory(self):
        processors = self.system.processors.get_members()
        nics = self.system.ethernet_interfaces.get_members()
        drives = [drive for storage in self.system.storage.get_members() for drive in storage.drives]
        if not (processors and nics and drives):
            raise RuntimeError(f"{len(processors)} processors, {len(nics)} NICs, {len(drives)} drives")

    def refreshed(self):
        self.system.refresh(force=True)
        return self.system

    def power(self, reset, state):
        self.refreshed().reset_system(reset)
        until(state, lambda: self.refreshed().power_state == state)

    def power_on(self):
        self.power(sushy.ResetType.ON, sushy.PowerState.ON)

    def power_off(self):
        self.power(sushy.ResetType.FORCE_OFF, sushy.PowerState.OFF)

    def slots(self):
        """Those under the system first, as ironic does it."""
        try:
            yield from self.system.virtual_media.get_members()
        except exceptions.MissingAttributeError:
            pass
        for manager in self.root.get_manager_collection().get_members():
            try:
                yield from manager.virtual_media.get_members()
            except exceptions.MissingAttributeError:
                pass

    def inserted(self):
        self.slot.refresh(force=True)
        return bool(self.slot.inserted)

    def insert(self):
        wanted = {sushy.VirtualMediaType.CD, sushy.VirtualMediaType.DVD}
        fit = [slot for slot in self.slots() if wanted.intersection(slot.media_types or ())]
        usable = [slot for slot in fit if slot.json.get("Actions") or slot.json.get("Image", "") is None]
        self.slot = (usable or fit or list(self.slots()))[0]
        self.slot.insert_media(self.image)
        until("the image", self.inserted)

    def eject(self):
        # Dell shows one drive under its system and under its manager: emptying either empties it.
        self.slot = [slot for slot in self.slots() if slot.image == self.image][0]
        self.slot.eject_media()
        until("an empty slot", lambda: not self.inserted())

    def boot_once(self):
        allowed = self.refreshed().get_allowed_system_boot_source_values()
        target = sushy.BootSource.CD if sushy.BootSource.CD in allowed else sushy.BootSource.USB_CD
        self.system.set_system_boot_options(
            target=target, enabled=sushy.BootSourceOverrideEnabled.ONCE
        )
        enabled = self.refreshed().boot.enabled
        if enabled != sushy.BootSourceOverrideEnabled.ONCE:
            raise RuntimeError(f"the override is {enabled}")

    def clear_boot(self):
        self.refreshed().set_system_boot_options(enabled=sushy.BootSourceOverrideEnabled.DISABLED)
        enabled = self.refreshed().boot.enabled
        if enabled != sushy.BootSourceOverrideEnabled.DISABLED:
            raise RuntimeError(f"the override is {enabled}")

    def used_up(self):
        """The machine uses a one-time override up when it starts."""
        disabled = sushy.BootSourceOverrideEnabled.DISABLED
        until("the override to be used up", lambda: self.refreshed().boot.enabled == disabled)

    def log_out(self):
        self.auth.close()


def main():
    url, user, password, image, *steps = sys.argv[1:]
    drive = Drive(url, user, password, image)
    for step in steps:
        said = None
        try:
            getattr(drive, step)()
        except Exception as error:  # whatever sushy may raise is the answer
            said = f"{type(error).__name__}: {error}"
        print(json.dumps({"step": step, "said": said}))


if __name__ == "__main__":
    main()
