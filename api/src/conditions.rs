//! Condition types and reasons. They are read by users' scripts: a name once released stays.

/// The summary of an object, over its whole life.
pub const READY: &str = "Ready";
/// Reconciliation is paused, by the Cluster or by annotation.
pub const PAUSED: &str = "Paused";

/// Conditions and reasons of a PhysicalHost.
pub mod host {
    /// The BMC answers, with the credentials it was given.
    pub const REDFISH_CONNECTION_READY: &str = "RedfishConnectionReady";
    /// The host can be claimed.
    pub const AVAILABLE: &str = "HostAvailable";
    /// What its consumer asked for was seen to boot.
    pub const PROVISIONED: &str = "HostProvisioned";

    /// The object that holds the host does not exist. Nothing is released for that: it may be on its
    /// way from another management cluster.
    pub const CONSUMER_MISSING: &str = "ConsumerMissing";

    /// The host names no credentials Secret.
    pub const MISSING_CREDENTIALS: &str = "MissingCredentials";
    /// A Secret could not be read.
    pub const SECRET_GET_FAILED: &str = "SecretGetFailed";
    /// A Secret does not exist.
    pub const SECRET_NOT_FOUND: &str = "SecretNotFound";
    /// A Secret lacks a key, or the key is empty.
    pub const MISSING_SECRET_DATA: &str = "MissingSecretData";
    /// The settings are complete and the BMC has not been contacted.
    pub const NOT_PROBED: &str = "NotProbed";
    /// The BMC answers.
    pub const CONNECTED: &str = "Connected";
    /// The credentials Secret is not meant for this BMC's address.
    pub const SECRET_NOT_FOR_BMC: &str = "SecretNotForBMC";
    /// The BMC could not be reached or refused us.
    pub const REDFISH_CONNECTION_FAILED: &str = "RedfishConnectionFailed";
    /// The BMC answered, but not what was asked.
    pub const REDFISH_QUERY_FAILED: &str = "RedfishQueryFailed";
    /// Power could not be turned on.
    pub const POWER_ON_FAILED: &str = "PowerOnFailed";
    /// Power could not be turned off.
    pub const POWER_OFF_FAILED: &str = "PowerOffFailed";
    /// The host can be claimed.
    pub const FREE: &str = "Free";
    /// Its BMC does not answer, or was not asked.
    pub const NOT_CONNECTED: &str = "NotConnected";
    /// A consumer holds the host.
    pub const CLAIMED: &str = "Claimed";
    /// A consumer holds the host, without a claim: consumerRef was written by hand.
    pub const CLAIMED_WITHOUT_ID: &str = "ClaimedWithoutID";
    /// Somebody took the claim off the host, and nobody has released it.
    pub const CLAIM_LOST: &str = "ClaimLost";
    /// People said that nobody may claim it.
    pub const CORDONED: &str = "Cordoned";
    /// It says of itself that it needs repair.
    pub const UNHEALTHY: &str = "Unhealthy";
    /// It runs something that we did not install.
    pub const EXTERNALLY_PROVISIONED: &str = "ExternallyProvisioned";
    /// It is being deleted.
    pub const DELETING: &str = "Deleting";
    /// Nobody holds the host: there is nothing to boot.
    pub const NOT_CLAIMED: &str = "NotClaimed";
    /// The boot was seen: the BMC told that the operating system was started.
    pub const BOOT_PROGRESS_SEEN: &str = "BootProgressSeen";
    /// The boot was seen: the one-time override was used up.
    pub const OVERRIDE_USED: &str = "OverrideUsed";
    /// The boot was seen: the machine called home.
    pub const CALLED_HOME: &str = "CalledHome";
    /// The boot was seen: its Node is in its cluster.
    pub const NODE_SEEN: &str = "NodeSeen";
    /// The boot was seen: the machine read its configuration.
    pub const CONFIGURATION_READ: &str = "ConfigurationRead";
    /// The boot was seen: the boot loader read its configuration from the image that our server presents.
    pub const IMAGE_READ: &str = "ImageRead";
    /// The machine was turned on long ago, and has not read the configuration that our server has for it.
    pub const CONFIGURATION_NOT_READ: &str = "ConfigurationNotRead";
    /// What our server should present or deliver needs the boot server, which is off.
    pub const BOOT_SERVER_OFF: &str = "BootServerOff";
    /// The image can't be presented with its boot loader configuration changed.
    pub const IMAGE_NOT_USABLE: &str = "ImageNotUsable";
    /// Its image was written to its disk, and its machine was told to start from it.
    pub const IMAGE_INSTALLED: &str = "ImageInstalled";
    /// A disk image is wanted, and this manager has no agent to write it with, or not in that way.
    pub const AGENT_NOT_AVAILABLE: &str = "AgentNotAvailable";
    /// The machine was turned on long ago, and its agent has not asked what to do.
    pub const AGENT_NOT_HEARD: &str = "AgentNotHeard";
    /// The agent said something, and then nothing any more.
    pub const AGENT_SILENT: &str = "AgentSilent";
    /// The agent goes on talking, and has come no further for too long.
    pub const AGENT_STUCK: &str = "AgentStuck";
    /// The agent could not install the image, and said why.
    pub const INSTALLATION_FAILED: &str = "InstallationFailed";
    /// The machine went off before its image was installed, again and again.
    pub const INSTALLATION_INTERRUPTED: &str = "InstallationInterrupted";
    /// The agent looks at the machine before the host can be claimed.
    pub const INSPECTING: &str = "Inspecting";
    /// The agent could not say what the machine is made of.
    pub const INSPECTION_FAILED: &str = "InspectionFailed";
    /// The BMC that a discovered host was given is in another machine than the one that was inspected.
    pub const BMC_OF_ANOTHER_MACHINE: &str = "BMCOfAnotherMachine";
    /// The agent could not wipe the disks.
    pub const CLEANING_FAILED: &str = "CleaningFailed";
    /// The agent was started again and again, and the machine went off or silent each time.
    pub const AGENT_INTERRUPTED: &str = "AgentInterrupted";
    /// The boot was seen, and how is no longer known.
    pub const BOOT_SEEN: &str = "BootSeen";
    /// Claimed, but the consumer has not said what to boot.
    pub const WAITING_FOR_BOOT_INFO: &str = "WaitingForBootInfo";
    /// Booting what the consumer asked for.
    pub const PROVISIONING: &str = "Provisioning";
    /// Booted as far as can be told: nothing could be seen of it.
    pub const BOOT_UNOBSERVABLE: &str = "BootUnobservable";
    /// The boot ISO could not be inserted or chosen.
    pub const SET_BOOT_ISO_FAILED: &str = "SetBootISOFailed";
    /// The BMC could not be told to boot from the network.
    pub const SET_BOOT_TARGET_FAILED: &str = "SetBootTargetFailed";
    /// The BMC lost the boot ISO, again and again, before the machine booted from it.
    pub const MEDIUM_LOST: &str = "MediumLost";
    /// Kernel parameters are wanted, and can't reach the kernel: nothing is booted without them.
    pub const BOOT_PARAMETERS_UNSUPPORTED: &str = "BootParametersUnsupported";
    /// Virtual media could not be ejected.
    pub const EJECT_MEDIA_FAILED: &str = "EjectMediaFailed";
    /// The machine boots from the network, and with which of its MAC addresses is not known.
    pub const BOOT_MAC_UNKNOWN: &str = "BootMACUnknown";
    /// The machine boots from the network with an address that another reservation has as well.
    pub const BOOT_MAC_IN_USE: &str = "BootMACInUse";
    /// The machine boots from the network, and is to be given an IP address that another reservation gives as well.
    pub const BOOT_ADDRESS_IN_USE: &str = "BootAddressInUse";
    /// The HostBootConfiguration that was made for the claim is not ready: the machine is not turned on before it is.
    pub const BOOT_CONFIGURATION_NOT_READY: &str = "BootConfigurationNotReady";
    /// The machine was turned on long ago, and has not fetched what it was to boot from the network.
    pub const ARTIFACTS_NOT_FETCHED: &str = "ArtifactsNotFetched";
    /// What was made for a boot from the network can't be written or removed.
    pub const BOOT_RESOURCES_NOT_WRITTEN: &str = "BootResourcesNotWritten";
    /// Being cleaned for the next consumer.
    pub const DEPROVISIONING: &str = "Deprovisioning";
    /// Its disks must be cleaned before somebody else gets it, and that can't be done.
    pub const CLEANING_NOT_POSSIBLE: &str = "CleaningNotPossible";
    /// What was copied for its tenant can't be removed.
    pub const COPIES_NOT_REMOVED: &str = "CopiesNotRemoved";
    /// Deleted while claimed: waits until its consumer lets go.
    pub const WAITING_FOR_CONSUMER_RELEASE: &str = "WaitingForConsumerRelease";
}

/// Conditions and reasons of a Beskar7Machine.
pub mod machine {
    /// The machine runs: Cluster API may go on.
    pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
    /// A PhysicalHost is claimed.
    pub const PHYSICAL_HOST_ASSOCIATED: &str = "PhysicalHostAssociated";

    /// No host fits yet; the message counts why.
    pub const WAITING_FOR_PHYSICAL_HOST: &str = "WaitingForPhysicalHost";
    /// The claimed host is not ready yet.
    pub const PHYSICAL_HOST_NOT_READY: &str = "PhysicalHostNotReady";
    /// The claimed host reports an error.
    pub const PHYSICAL_HOST_ERROR: &str = "PhysicalHostError";
    /// The host could not be released.
    pub const RELEASE_PHYSICAL_HOST_FAILED: &str = "ReleasePhysicalHostFailed";
    /// The Machine's bootstrap data is not there yet.
    pub const WAITING_FOR_BOOTSTRAP_DATA: &str = "WaitingForBootstrapData";
    /// The Secret with the Machine's bootstrap data is gone, or holds nothing.
    pub const BOOTSTRAP_SECRET_NOT_USABLE: &str = "BootstrapSecretNotUsable";
    /// No Machine owns it yet.
    pub const WAITING_FOR_OWNER_MACHINE: &str = "WaitingForOwnerMachine";
    /// The Cluster is not there, or its infrastructure is not ready yet.
    pub const WAITING_FOR_CLUSTER_INFRASTRUCTURE: &str = "WaitingForClusterInfrastructure";
    /// What the spec asks for can't be carried out.
    pub const SPEC_NOT_USABLE: &str = "SpecNotUsable";
    /// A PhysicalHost was chosen and is being bound.
    pub const BINDING_PHYSICAL_HOST: &str = "BindingPhysicalHost";
    /// A PhysicalHost is bound.
    pub const PHYSICAL_HOST_BOUND: &str = "PhysicalHostBound";
    /// A PhysicalHost of another namespace is bound, and no HostDeployPolicy allows it any more.
    pub const NOT_AUTHORIZED: &str = "NotAuthorized";
    /// The host is paused, or moved away: nothing is done with it.
    pub const PHYSICAL_HOST_PAUSED: &str = "PhysicalHostPaused";
    /// It had a host and lost it; it gets no other.
    pub const PHYSICAL_HOST_LOST: &str = "PhysicalHostLost";
    /// The host boots.
    pub const PROVISIONING: &str = "Provisioning";
    /// The host was seen to boot.
    pub const PROVISIONED: &str = "Provisioned";
    /// The host is being turned off and cleaned.
    pub const RELEASING_PHYSICAL_HOST: &str = "ReleasingPhysicalHost";

    /// Its Node carries its providerID: Cluster API knows which Node it is.
    pub const NODE_LINKED: &str = "NodeLinked";
    /// The Node carries the providerID.
    pub const LINKED: &str = "Linked";
    /// No Node is there yet.
    pub const WAITING_FOR_NODE: &str = "WaitingForNode";
    /// The Node was found by its UUID; its providerID is being written.
    pub const LINKING_NODE: &str = "LinkingNode";
    /// The Node was found by its UUID; its providerID could not be written.
    pub const NODE_LINK_FAILED: &str = "NodeLinkFailed";
    /// The Secret with the workload cluster's kubeconfig does not exist.
    pub const KUBECONFIG_NOT_FOUND: &str = "KubeconfigNotFound";
    /// The workload cluster's kubeconfig can't be used.
    pub const KUBECONFIG_NOT_USABLE: &str = "KubeconfigNotUsable";
    /// The workload cluster does not answer, or refuses.
    pub const WORKLOAD_CLUSTER_UNREACHABLE: &str = "WorkloadClusterUnreachable";
    /// The host's BMC tells no UUID to find the Node by.
    pub const UUID_UNKNOWN: &str = "UUIDUnknown";
    /// The host's UUID is a maker's filler, which many machines share.
    pub const UUID_NOT_UNIQUE: &str = "UUIDNotUnique";
    /// More than one Node could be it.
    pub const SEVERAL_NODES_MATCH: &str = "SeveralNodesMatch";
    /// More than one host of the cluster has this UUID.
    pub const SEVERAL_HOSTS_MATCH: &str = "SeveralHostsMatch";
    /// The Node that matches carries another providerID.
    pub const NODE_HAS_ANOTHER_PROVIDER_ID: &str = "NodeHasAnotherProviderID";
    /// The Node that matches was there before this machine was started.
    pub const NODE_OF_EARLIER_BOOT: &str = "NodeOfEarlierBoot";
    /// The Node is being deleted.
    pub const NODE_BEING_DELETED: &str = "NodeBeingDeleted";
}

/// Conditions and reasons of a Beskar7Cluster.
pub mod cluster {
    /// The control-plane endpoint is known.
    pub const CONTROL_PLANE_ENDPOINT_READY: &str = "ControlPlaneEndpointReady";

    /// Known: people gave it.
    pub const ENDPOINT_GIVEN: &str = "EndpointGiven";
    /// Known: it is the address of a host that is kept for the first control-plane machine.
    pub const HOST_RESERVED: &str = "HostReserved";
    /// Known: it is the address of a control-plane machine that came up by itself.
    pub const ENDPOINT_DISCOVERED: &str = "EndpointDiscovered";

    /// The Cluster that it belongs to is not known.
    pub const WAITING_FOR_OWNER_CLUSTER: &str = "WaitingForOwnerCluster";
    /// What was given can't be an endpoint.
    pub const INVALID_ENDPOINT: &str = "InvalidEndpoint";
    /// Nothing is given, and no control-plane machine runs that could be asked.
    pub const ENDPOINT_NOT_SET: &str = "ControlPlaneEndpointNotSet";
    /// What makes the control-plane machines can't be read, or does not exist yet.
    pub const WAITING_FOR_CONTROL_PLANE: &str = "WaitingForControlPlane";
    /// There are to be several control-plane machines: somebody must give an endpoint.
    pub const ENDPOINT_NEEDED: &str = "EndpointNeeded";
    /// No host can be reserved yet; the message counts why.
    pub const WAITING_FOR_PHYSICAL_HOST: &str = "WaitingForPhysicalHost";
    /// The host whose address is the endpoint does not exist any more.
    pub const RESERVED_HOST_GONE: &str = "ReservedHostGone";
    /// The pool is in another namespace, and nothing allows that.
    pub const HOST_POOL_NOT_ALLOWED: &str = "HostPoolNotAllowed";
    /// It is being deleted.
    pub const DELETING: &str = "Deleting";
}

/// Conditions and reasons of a HostClaim.
pub mod claim {
    /// A host is bound.
    pub const ASSOCIATION: &str = "Association";
    /// The claim's configuration is with the host.
    pub const SYNCHRONIZATION: &str = "Synchronization";
    /// The image was seen to boot.
    pub const PROVISIONED: &str = "Provisioned";

    /// Bound.
    pub const HOST_ASSOCIATED: &str = "HostAssociated";
    /// No host fits; the message counts why.
    pub const NO_MATCHING_HOST: &str = "NoMatchingHost";
    /// No HostDeployPolicy allows it.
    pub const NOT_AUTHORIZED: &str = "NotAuthorized";
    /// The host has the claim's configuration.
    pub const CONFIGURATION_SYNCED: &str = "ConfigurationSynced";
    /// A Secret that the claim names does not exist.
    pub const SECRET_NOT_FOUND: &str = "SecretNotFound";
    /// A Secret that the claim names does not hold what it should.
    pub const SECRET_NOT_USABLE: &str = "SecretNotUsable";
    /// The claim names a Secret of another namespace than its own.
    pub const SECRET_NOT_ALLOWED: &str = "SecretNotAllowed";
    /// A Secret can't be copied to where the host is.
    pub const SECRET_NOT_COPIED: &str = "SecretNotCopied";
    /// Not provisioned: the host is bound and waits.
    pub const WAITING: &str = "available";
    /// Not provisioned: its image is being booted.
    pub const PROVISIONING: &str = "provisioning";
    /// Provisioned.
    pub const BOOTED: &str = "provisioned";
    /// No host is bound.
    pub const NOT_ASSOCIATED: &str = "NotAssociated";
    /// A host was chosen and is being bound.
    pub const ASSOCIATING: &str = "Associating";
    /// It had a machine and lost it; it gets no other.
    pub const HOST_LOST: &str = "HostLost";
    /// Its machine is being turned off and cleaned.
    pub const RELEASING: &str = "Releasing";
    /// Its host reports an error.
    pub const HOST_ERROR: &str = "HostError";
    /// Its image can't be brought onto a host.
    pub const IMAGE_NOT_SUPPORTED: &str = "ImageNotSupported";
    /// What it ran is taken off the machine, because it wants another image, or none.
    pub const DEPROVISIONING: &str = "deprovisioning";
    /// It names a configuration, which can't be delivered.
    pub const CONFIGURATION_NOT_SUPPORTED: &str = "ConfigurationNotSupported";
    /// Ready: all is well.
    pub const INFO_REPORTED: &str = "InfoReported";
    /// Ready: other conditions say what is missing.
    pub const ISSUES_REPORTED: &str = "IssuesReported";
}

/// Reasons of a HostDeployPolicy.
pub mod policy {
    /// Ready: what it says is understood.
    pub const POLICY_READ: &str = "PolicyRead";
    /// Its expression can't be used: it allows nobody.
    pub const EXPRESSION_NOT_USABLE: &str = "ExpressionNotUsable";
    /// It goes by labels of namespaces, and the manager does not know those: it allows nobody.
    pub const LABELS_NOT_KNOWN: &str = "LabelsNotKnown";
}

/// Reasons of a HostBootConfiguration.
pub mod boot_configuration {
    /// Ready: every artifact answers.
    pub const ARTIFACTS_READY: &str = "ArtifactsReady";
    /// An artifact with a digest is read to its end, and compared.
    pub const COMPARING_ARTIFACTS: &str = "ComparingArtifacts";
    /// An artifact does not answer, or is not what it should be.
    pub const ARTIFACT_NOT_USABLE: &str = "ArtifactNotUsable";
    /// What it asks for can't be booted.
    pub const NOT_BOOTABLE: &str = "NotBootable";
    /// Its host does not exist, or is not held by the claim that it was made for: nobody is served it.
    pub const HOST_NOT_HELD: &str = "HostNotHeld";
    /// There is no boot server.
    pub const BOOT_SERVER_OFF: &str = "BootServerOff";
}

/// Reasons of a DHCPReservation.
pub mod reservation {
    /// Ready: the host is answered.
    pub const RESERVED: &str = "Reserved";
    /// Another, older reservation has the same MAC address: that one is answered.
    pub const MAC_IN_USE: &str = "MACInUse";
    /// Another, older reservation gives the same IP address: its host gets it, and this one's gets none.
    pub const ADDRESS_IN_USE: &str = "AddressInUse";
    /// Its host does not exist.
    pub const HOST_NOT_FOUND: &str = "HostNotFound";
}
