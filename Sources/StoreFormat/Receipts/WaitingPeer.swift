/// A peer whose next log cannot be joined yet, with the reason.
public struct WaitingPeer: Sendable, Hashable {
    /// The peer.
    public var peer: String
    /// The sequence of the peer's next log.
    public var sequence: Int64
    /// The reason why it waits.
    public var reason: WaitingReason
    /// The number of the peer's waiting logs.
    public var logs: Int

    package init(peer: String, sequence: Int64, reason: WaitingReason, logs: Int) {
        self.peer = peer
        self.sequence = sequence
        self.reason = reason
        self.logs = logs
    }

    /// The files that the log waits for, as far as they are known.
    package var awaited: [AwaitedFile] { if case .files(let files) = reason { files } else { [] } }
}

/// The reason why a log waits.
public enum WaitingReason: Sendable, Hashable {
    /// Files that the log needs are not here yet, or cannot be used.
    case files([AwaitedFile])
    /// The log names tables or columns that this app's schema does not have.
    case schema(obstacle: String, authors: String)
    /// Statements of the container are not here yet, so that nobody can tell whether the author had the right to make the
    /// log.
    case statements([String])
    /// The log cannot be read now.
    case unreadable(String)
}

/// A file that a log waits for.
public struct AwaitedFile: Sendable, Hashable, Codable {
    /// The peer in whose directory the file will be.
    public var peer: String
    /// The sequence of the log.
    ///
    /// Nil for a large value, which is below `values`.
    public var sequence: Int64?
    /// The content hash, if a log names it.
    public var hash: String?
    /// Whether there is a file that cannot be used: damaged, or still arriving.
    public var isDamaged: Bool
    /// The file name of the log that names a large value.
    ///
    /// Nil for a log.
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
    /// The peer, its waiting logs and the reason, in words.
    public var description: String {
        let count = "\(logs) \(logs == 1 ? "log" : "logs")"
        if case .schema(_, let schema) = reason { return "peer \(peer) on schema \(schema.isEmpty ? "without migrations" : schema), \(count)" }
        return "peer \(peer) at log \(sequence), \(count): \(reason)"
    }
}

extension WaitingReason: CustomStringConvertible {
    /// The reason in words, to follow the log's name.
    public var description: String {
        switch self {
        case .files(let files): "it waits for \(files.map(\.description).joined(separator: ", "))"
        case .schema(let obstacle, let authors): "\(obstacle) (its author's schema is at “\(authors)”): update this app"
        case .statements(let needs): "its author's right is not known before these are here: \(needs.joined(separator: ", "))"
        case .unreadable(let error): "it cannot be read (\(error))"
        }
    }
}

extension AwaitedFile: CustomStringConvertible {
    /// The file and its state, in words.
    public var description: String {
        let file = sequence.map { "log \($0)" } ?? "the value \(hash ?? "")"
        return "\(file) of \(peer), which \(isDamaged ? "cannot be used" : "is not here yet")"
    }
}
