/// The life of a service as its manager sees it: which notices are worth sending.
package struct ServiceLife: Sendable, Hashable {
    private enum Phase {
        /// The manager waits for `ready`.
        case starting
        case serving
        /// Nothing follows `stopping`.
        case stopping
    }

    private var phase = Phase.starting
    private var status: String?

    package init() {}

    /// Returns the notices that tell something new and true, in their order.
    package mutating func admit(_ notices: [ServiceNotice]) -> [ServiceNotice] { notices.filter { admit($0) } }

    private mutating func admit(_ notice: ServiceNotice) -> Bool {
        switch (notice, phase) {
        case (_, .stopping): return false
        case (.ready, .starting):
            phase = .serving
            return true
        case (.ready, .serving), (.alive, .starting): return false
        case (.alive, .serving): return true
        case (.status(let text), _):
            defer { status = text }
            return text != status
        case (.stopping, _):
            phase = .stopping
            return true
        }
    }
}
