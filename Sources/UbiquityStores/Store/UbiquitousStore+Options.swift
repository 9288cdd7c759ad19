public import StoreExchange

extension UbiquitousStore {
    /// The options with which a store is opened.
    public typealias Options = StoreOptions
}
