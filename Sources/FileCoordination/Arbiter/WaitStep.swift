public import SystemPackage

/// One thing that a claim waits for: another claim, or a presenter that has not answered.
public struct WaitStep: Hashable, Sendable, CustomStringConvertible {
    /// The kinds of wait.
    public enum Kind: String, Hashable, Sendable, Codable {
        /// A claim whose accessor runs.
        case heldClaim
        /// A claim that is itself waiting.
        case waitingClaim
        /// A presenter that has not handled a message.
        case presenter
        /// The broker, which this process cannot reach yet.
        case broker
    }

    /// The kind of wait.
    public let kind: Kind
    /// The process that it belongs to.
    public let process: Int32
    /// The purpose of the claim, or of the claim that caused the message.
    public let purpose: String
    /// The items of the claim, or the item of the presenter.
    public let paths: [FilePath]
    /// The current activity: `read`, `write`, `prepare`, or the name of the presenter's method.
    public let activity: String

    /// A description in one line for people.
    public var description: String {
        let items = paths.isEmpty ? "no item" : paths.map(\.string).joined(separator: ", ")
        return switch kind {
        case .heldClaim: "the \(activity) claim on \(items) held by process \(process) for \(purpose)"
        case .waitingClaim: "the waiting \(activity) claim on \(items) of process \(process) for \(purpose)"
        case .broker: "the broker of file coordination, which process \(process) is looking for"
        case .presenter: "the presenter of \(items) in process \(process), which has not answered \(activity)"
        }
    }
}

extension Arbiter {
    func step(_ node: Surrounding) -> WaitStep {
        switch node {
        case .claim(let id):
            guard let claim = claims[id] else { break }
            return WaitStep(
                kind: claim.isHeld ? .heldClaim : .waitingClaim, process: clients[id.client]?.process ?? 0,
                purpose: claim.request.purpose.description, paths: claim.items.map(\.path), activity: claim.activity)
        case .message(let id):
            guard let pending = messages[id] else { break }
            let presenter = pending.delivery.presenter
            return WaitStep(
                kind: .presenter, process: clients[presenter.client]?.process ?? 0, purpose: pending.delivery.cause.purpose.description,
                paths: presenters[presenter]?.path.map { [$0] } ?? [], activity: pending.delivery.message.name)
        }
        preconditionFailure("\(node) blocks no claim")
    }
}

extension Claim {
    /// The activity of the claim in one word.
    var activity: String {
        request.isPreparation ? "prepare" : items.contains { $0.access.writes } ? "write" : "read"
    }
}
