public import StoreExchange

extension UbiquitousStore {
    /// How a store is opened.
    public typealias Options = StoreOptions
}
