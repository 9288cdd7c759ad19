public import UbiquityContainers

/// The logs of the removed that the base of a removal leaves out, although the store that signs it has joined them.
///
/// There is no form with a date, because the removed choose the dates of their logs.
public enum TakingBack: Hashable, Sendable {
    /// Nothing: what the signing store has of their changes stays.
    case nothing
    /// All of their logs.
    case everything
    /// For each of some devices, its logs after the one with this number.
    case after([PeerIdentifier: Int64])
}

extension TakingBack: LosslessStringConvertible, Codable {
    private static let all = "all"

    /// One line for each device with the number of the last log that stays, `all`, or nothing.
    public var description: String {
        switch self {
        case .nothing: ""
        case .everything: Self.all
        case .after(let last): last.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: "\n")
        }
    }

    /// Reads a description.
    ///
    /// Returns nil for anything else.
    public init?(_ description: String) {
        self.init(words: description.isEmpty ? [] : description.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
    }

    /// Reads `all`, or `<device>:<number of the last log that stays>` for each of some devices.
    ///
    /// Returns nil for anything else.
    package init?(words: some Sequence<String>) {
        let words = Array(words)
        if words.isEmpty {
            self = .nothing
        } else if words == [Self.all] {
            self = .everything
        } else {
            var last: [PeerIdentifier: Int64] = [:]
            for word in words {
                guard let colon = word.lastIndex(of: ":"), let peer = PeerIdentifier(word[..<colon]),
                    let sequence = Int64(word[word.index(after: colon)...]), sequence >= 0, last.updateValue(sequence, forKey: peer) == nil
                else { return nil }
            }
            self = .after(last)
        }
    }

    /// Reads a description.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let value = TakingBack(text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "“\(text)” takes back nothing that is known."))
        }
        self = value
    }

    /// Writes the description.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    /// Returns whether a log of one of the removed is left out.
    package func takes(_ sequence: Int64, of peer: PeerIdentifier) -> Bool {
        switch self {
        case .nothing: false
        case .everything: true
        case .after(let last): last[peer].map { sequence > $0 } ?? false
        }
    }
}
