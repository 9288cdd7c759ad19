internal import Logging
internal import TreeWatching

/// The log of an agent: its messages carry whose files they are about, and an obstacle is logged once until it is gone.
struct AgentLog: Sendable {
    private(set) var logger = Logger.ubiquity
    /// The kind of the obstacle that was logged last; nil once it is gone.
    private var obstacle: String?

    /// Lets each message name the account and the cloud of a status.
    mutating func name(_ status: TransferStatus) {
        logger[metadataKey: LogFact.account.key] = status.account.map { "\($0)" }
        logger[metadataKey: LogFact.remote.key] = status.remote.map { "\($0)" }
    }

    /// Logs what is in the way, however often the agent tries again, and that it is gone.
    mutating func note(_ status: TransferStatus) {
        switch status.activity {
        case .blocked, .waiting:
            let kind = status.block ?? status.activity.rawValue
            guard obstacle != kind else { return }
            obstacle = kind
            logger.warning("transfer: \(status.reason ?? kind)")
        case .idle:
            if obstacle != nil { logger.warning("transfer: nothing is in the way any more") }
            obstacle = nil
        case .working, .paused, .off: break
        }
    }
}
