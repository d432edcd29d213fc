//! Names that are part of the API though no schema holds them: the group, labels, annotations, finalizers.

/// The API group of every kind here.
pub const GROUP: &str = "infrastructure.cluster.x-k8s.io";
/// The version of every kind here.
pub const VERSION: &str = "v1beta1";

/// Labels we read or write.
pub mod labels {
    /// The failure domain of a PhysicalHost.
    pub const ZONE: &str = "topology.kubernetes.io/zone";
    /// The Cluster that an object belongs to.
    pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
    /// On a Machine: it belongs to the control plane.
    pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
    /// Which of several managers looks after an object; compared with `--watch-filter`.
    pub const WATCH_FILTER: &str = "cluster.x-k8s.io/watch-filter";
    /// On what was made for a claim: that claim's id.
    pub const CLAIM_ID: &str = "beskar7.infrastructure.cluster.x-k8s.io/claim-id";
    /// On a PhysicalHost: it was written down because its machine asked for something to boot, and nobody knew it.
    pub const DISCOVERED: &str = "beskar7.infrastructure.cluster.x-k8s.io/discovered";
}

/// Annotations we read or write.
pub mod annotations {
    /// On a consumer, its claim: `<namespace>/<host>/<claimID>`, with `/renews-<claimID>` behind it where it takes the
    /// place of an older one, and `/given-up` once it is given up.
    pub const CLAIM: &str = "beskar7.infrastructure.cluster.x-k8s.io/claim";
    /// On a PhysicalHost: the claim whose boot was seen. Outlives a lost status.
    pub const PROVISIONED: &str = "beskar7.infrastructure.cluster.x-k8s.io/provisioned";
    /// On a PhysicalHost: the claim that the machine was turned on for, and how its boot can be seen. Written before it
    /// is turned on.
    pub const BOOTING: &str = "beskar7.infrastructure.cluster.x-k8s.io/booting";
    /// On a PhysicalHost: the claim that its machine boots for, and what our server and its cluster have heard of it
    /// since: `<claimID> configuration=<second> home=<second>`.
    pub const HEARD: &str = "beskar7.infrastructure.cluster.x-k8s.io/heard";
    /// On a PhysicalHost: what the agent on its machine said last, as JSON, with the claim and the order that it is about.
    pub const AGENT: &str = "beskar7.infrastructure.cluster.x-k8s.io/agent";
    /// On a PhysicalHost: what the agent is started on its machine for, though nobody holds it: `inspect`,
    /// `clean-metadata` or `clean-full`, the errand's id, and when the machine was turned on for it.
    pub const ERRAND: &str = "beskar7.infrastructure.cluster.x-k8s.io/errand";
    /// On a PhysicalHost: when the agent inspected its machine. Without it, it is inspected again where that is wanted.
    pub const INSPECTED: &str = "beskar7.infrastructure.cluster.x-k8s.io/inspected";
    /// On a PhysicalHost: the UUID of the machine that the agent inspected. The BMC of a host that was discovered must tell
    /// the same one.
    pub const INSPECTED_UUID: &str = "beskar7.infrastructure.cluster.x-k8s.io/inspected-uuid";
    /// On a PhysicalHost: the UUID that its machine's firmware tells, where its BMC tells another one. Orders of the agent are
    /// for that machine only.
    pub const MACHINE_UUID: &str = "beskar7.infrastructure.cluster.x-k8s.io/machine-uuid";
    /// On a PhysicalHost that was discovered: the host, as `<namespace>/<name>`, that its machine turned out to be.
    pub const SAME_MACHINE: &str = "beskar7.infrastructure.cluster.x-k8s.io/same-machine";
    /// On a PhysicalHost: the last claim that was given up here. Writing it makes every older decision to bind fail.
    pub const FENCE: &str = "beskar7.infrastructure.cluster.x-k8s.io/fence";
    /// On a PhysicalHost: whom it was last bound for. A hint for choosing, nothing else.
    pub const LAST_OWNER: &str = "beskar7.infrastructure.cluster.x-k8s.io/last-owner";
    /// On a PhysicalHost: the HostDeployPolicy beside it under which another namespace has it.
    pub const POLICY: &str = "beskar7.infrastructure.cluster.x-k8s.io/policy";
    /// On a PhysicalHost: the claim that holds it, and the image that it was told to boot for it. What people write into
    /// `bootIsoSource` changes nothing of that.
    pub const IMAGE: &str = "beskar7.infrastructure.cluster.x-k8s.io/image";
    /// On a PhysicalHost: the parts of a tenant's configuration that were copied to its namespace for it, by name. They
    /// go with the claim.
    pub const COPIES: &str = "beskar7.infrastructure.cluster.x-k8s.io/copies";
    /// On a PhysicalHost: the least cleaning behind its claim that a policy demands.
    pub const CLEANING: &str = "beskar7.infrastructure.cluster.x-k8s.io/cleaning";
    /// On a PhysicalHost: its disks were cleaned of this claim, by the agent or by people.
    pub const CLEANED: &str = "beskar7.infrastructure.cluster.x-k8s.io/cleaned";
    /// On a PhysicalHost: the claim that holds it and has not had its machine turned on. Nothing has to be cleaned then.
    pub const UNUSED: &str = "beskar7.infrastructure.cluster.x-k8s.io/unused";
    /// On a PhysicalHost: this claim is released. Its consumer writes it, or a person though the consumer is gone.
    pub const RELEASE: &str = "beskar7.infrastructure.cluster.x-k8s.io/release";
    /// On a consumer that is being deleted: let it go though its host is not seen off and clean. The host stays back until
    /// it is.
    pub const FORCE_RELEASE: &str = "beskar7.infrastructure.cluster.x-k8s.io/force-release";
    /// On a Secret: the only BMC addresses that its credentials may be sent to, separated by commas.
    pub const BMC_ADDRESSES: &str = "beskar7.infrastructure.cluster.x-k8s.io/bmc-addresses";
    /// On a HostClaim: restart the machine once; value `{"mode":"soft"}` or `{"mode":"hard"}`.
    pub const REBOOT: &str = "reboot.beskar7.io";
    /// The same, as users of Metal3 write it.
    pub const REBOOT_METAL3: &str = "reboot.metal3.io";
    /// On a HostClaim and then on its PhysicalHost: the restart that was asked for, `soft` or `hard`, and which one it is.
    pub const RESTART: &str = "beskar7.infrastructure.cluster.x-k8s.io/restart";
    /// On a PhysicalHost: the last restart that was made.
    pub const RESTARTED: &str = "beskar7.infrastructure.cluster.x-k8s.io/restarted";
    /// Cluster API: leave the object alone.
    pub const PAUSED: &str = "cluster.x-k8s.io/paused";
    /// Cluster API: somebody else manages this infrastructure object.
    pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
    /// clusterctl: the object is deleted here because it was moved elsewhere.
    pub const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";
    /// clusterctl: do not move yet.
    pub const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
    /// Cluster API: a server-side dry run of the ClusterClass controller.
    pub const TOPOLOGY_DRY_RUN: &str = "topology.cluster.x-k8s.io/dry-run";
}

/// Finalizers we set.
pub mod finalizers {
    /// On a PhysicalHost.
    pub const PHYSICAL_HOST: &str = "physicalhost.infrastructure.cluster.x-k8s.io";
    /// On a Beskar7Machine.
    pub const MACHINE: &str = "beskar7machine.infrastructure.cluster.x-k8s.io";
    /// On a Beskar7Cluster.
    pub const CLUSTER: &str = "beskar7cluster.infrastructure.cluster.x-k8s.io";
    /// On a HostClaim.
    pub const HOST_CLAIM: &str = "hostclaim.infrastructure.cluster.x-k8s.io";
}

/// The Secret keys we read.
pub mod secret_keys {
    /// A BMC's user name.
    pub const USERNAME: &str = "username";
    /// A BMC's password.
    pub const PASSWORD: &str = "password";
    /// The CA bundle to trust a BMC by.
    pub const CA_CERTIFICATE: &str = "ca.crt";
    /// Where the CA bundle is when `ca.crt` is absent.
    pub const TLS_CERTIFICATE: &str = "tls.crt";
}
