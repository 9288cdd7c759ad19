internal import SystemPackage
internal import UbiquityContainers

/// That a store's content has been removed, by this device or another, and the store is empty.
public struct ContentRemoval: Sendable, Hashable {
    /// The epoch that has begun.
    public var epoch: Int64
    /// What was set aside, which `ubcontrol kept` lists; nil where all had been sent.
    public var kept: KeptEntry?
    /// How many logs of this device nobody had read, and had gone from the container before they could be set aside.
    public var missing: Int

    package init(epoch: Int64, kept: KeptEntry?, missing: Int) {
        self.epoch = epoch
        self.kept = kept
        self.missing = missing
    }
}
