/// A peer whose next log cannot be joined yet, and why.
public struct WaitingPeer: Sendable, Hashable {
    /// The peer.
    public var peer: String
    /// The sequence of its next log.
    public var sequence: Int64
    /// Why.
    public var reason: WaitingReason
    /// How many of its logs wait.
    public var logs: Int

    package init(peer: String, sequence: Int64, reason: WaitingReason, logs: Int) {
        self.peer = peer
        self.sequence = sequence
        self.reason = reason
        self.logs = logs
    }

    /// The files that it waits for, as far as anything names them.
    package var awaited: [AwaitedFile] { if case .files(let files) = reason { files } else { [] } }
}

/// Why a log waits.
public enum WaitingReason: Sendable, Hashable {
    /// Files that it needs are not here yet, or cannot be used.
    case files([AwaitedFile])
    /// It names what this app's schema does not have.
    case schema(obstacle: String, authors: String)
    /// It cannot be read just now.
    case unreadable(String)
}

/// A file that a log waits for, as far as anything names it.
public struct AwaitedFile: Sendable, Hashable, Codable {
    /// The peer in whose directory it will be.
    public var peer: String
    /// The log's sequence; nil for a large value, which is below `values`.
    public var sequence: Int64?
    /// The content hash, where a log names it.
    public var hash: String?
    /// Whether a file is there that cannot be used: damaged, or still arriving.
    public var isDamaged: Bool
    /// Of a large value the file name of the log that names it; nil for a log.
    public var log: String?

    package init(peer: String, sequence: Int64? = nil, hash: String? = nil, isDamaged: Bool, log: String? = nil) {
        self.peer = peer
        self.sequence = sequence
        self.hash = hash
        self.isDamaged = isDamaged
        self.log = log
    }
}

extension WaitingPeer: CustomStringConvertible {
    /// Who waits with how many logs, in words.
    public var description: String {
        let count = "\(logs) \(logs == 1 ? "log" : "logs")"
        if case .schema(_, let schema) = reason { return "peer \(peer) on schema \(schema.isEmpty ? "without migrations" : schema), \(count)" }
        return "peer \(peer) at log \(sequence), \(count): \(reason)"
    }
}

extension WaitingReason: CustomStringConvertible {
    /// The reason in words, to stand behind the log's name.
    public var description: String {
        switch self {
        case .files(let files): "it waits for \(files.map(\.description).joined(separator: ", "))"
        case .schema(let obstacle, let authors): "\(obstacle) (its author's schema is at “\(authors)”): update this app"
        case .unreadable(let error): "it cannot be read (\(error))"
        }
    }
}

extension AwaitedFile: CustomStringConvertible {
    /// The file and its state, for people.
    public var description: String {
        let file = sequence.map { "log \($0)" } ?? "the value \(hash ?? "")"
        return "\(file) of \(peer), which \(isDamaged ? "cannot be used" : "is not here yet")"
    }
}
