/// The state of a file in an answer.
package struct TransferItemState: Sendable, Hashable, Codable {
    package var status: String
    package var size: Int64?
    package var done: Int64?
    package var total: Int64?
    package var rate: Double?
    package var failure: String?

    package init(_ state: ItemState) {
        (status, size, failure) = (state.status.rawValue, state.size, state.failure)
        (done, total, rate) = (state.progress?.done, state.progress?.total, state.progress?.rate)
    }

    /// The state.
    package var state: ItemState {
        var state = ItemState(ItemStatus(rawValue: status) ?? .unknown, size: size, failure: failure)
        if let done, let total { state.progress = TransferProgress(done: done, total: total, rate: rate) }
        return state
    }
}
