internal import SystemPackage
internal import UbiquityContainers

/// The result of removing a store's content, by this device or another.
///
/// The store is empty now.
public struct ContentRemoval: Sendable, Hashable {
    /// The epoch that has begun.
    public var epoch: Int64
    /// The entry that was set aside, which `ubcontrol kept` lists.
    ///
    /// Nil if everything had been sent.
    public var kept: KeptEntry?
    /// The number of this device's unread logs that had gone from the container before they could be set aside.
    public var missing: Int

    package init(epoch: Int64, kept: KeptEntry?, missing: Int) {
        self.epoch = epoch
        self.kept = kept
        self.missing = missing
    }
}
