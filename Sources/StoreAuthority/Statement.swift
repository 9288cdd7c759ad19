package import StoreFormat
package import UbiquityContainers

/// A statement of any kind, whose signature is valid.
package enum Statement: Hashable, Sendable {
    case policy(Signed<Policy>)
    case account(Signed<AccountStatement>)
    case enrolment(Signed<Enrolment>)
    case admittance(Signed<Admittance>)
    case warrant(Signed<BaselineWarrant>)

    /// The hash of the statement's file.
    package var id: StatementIdentifier {
        switch self {
        case .policy(let signed): signed.id
        case .account(let signed): signed.id
        case .enrolment(let signed): signed.id
        case .admittance(let signed): signed.id
        case .warrant(let signed): signed.id
        }
    }

    /// Reads a signed file of any kind of statement, and verifies its signature.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - container: the container that the file must be for.
    /// - Throws: `LogFault`.
    package init(decoding bytes: [UInt8], in container: ScopeIdentifier) throws(LogFault) {
        let envelope = try Envelope(decoding: bytes)
        self = try Self(of: envelope)
        guard envelope.isGenuine(in: container) else {
            throw .damaged("its signature is not valid: it is altered, or was not made for this container with the key that it names")
        }
    }

    /// Reads the payload of a signed file without verifying the signature.
    package init(of envelope: Envelope) throws(LogFault) {
        switch envelope.kind {
        case .policy: self = .policy(try Signed(of: envelope))
        case .account: self = .account(try Signed(of: envelope))
        case .enrolment: self = .enrolment(try Signed(of: envelope))
        case .admittance: self = .admittance(try Signed(of: envelope))
        case .baseline: self = .warrant(try Signed(of: envelope))
        case .receipt: throw .damaged("it is a receipt, not a statement")
        case .head: throw .damaged("it is a publisher's head, not a statement")
        }
    }
}

extension Signed<AccountStatement> {
    /// The account of the statement: the first statement's is its own hash.
    package var account: AccountIdentifier { value.account ?? AccountIdentifier(id.hash) }

    /// Whether a statement holds before another one of the account: by version, then by hash.
    func precedes(_ other: Self) -> Bool {
        value.version == other.value.version ? id < other.id : value.version < other.value.version
    }
}

/// What is known of a statement's right to speak: a fact about the statement, which never changes once it is known.
package enum Judgement: Hashable, Sendable {
    /// The key that signed was permitted to.
    case accepted
    /// The statement has no effect.
    case refused(StatementFault)
    /// Other statements must be read first.
    case waits(for: Set<StatementIdentifier>)
}

/// Why a statement has no effect.
package enum StatementFault: Hashable, Sendable, CustomStringConvertible {
    /// Its key is not one that may sign such a statement.
    case signer
    /// A statement that it names has no effect, or is of another kind or account.
    case names(StatementIdentifier)
    /// Its version, its term or its identity does not follow from its predecessor's.
    case succession
    /// It alters what only a policy of a new term may alter.
    case altersSteward
    /// It alters whether a table is curated or contributed.
    case altersAccess(String)
    /// It takes something away without naming what remains.
    case lacksBase
    /// It enrols a device under a name that the account's statement has given to another.
    case nameTaken(PeerIdentifier)

    package var description: String {
        switch self {
        case .signer: "its signer may not sign it"
        case .names(let id): "it names the statement \(id), which has no effect"
        case .succession: "it does not follow from its predecessor"
        case .altersSteward: "it alters the owner, the steward or the heirs without beginning a new term"
        case .altersAccess(let table): "it alters the kind of the table \(table)"
        case .lacksBase: "it removes somebody without a base"
        case .nameTaken(let peer): "it enrols \(peer), which is the name of another device"
        }
    }
}

/// The statements that wait for others, by what they wait for.
struct WaitingStatements: Sendable {
    private var dependents: [StatementIdentifier: Set<StatementIdentifier>] = [:]

    mutating func insert(_ id: StatementIdentifier, waitingFor needs: Set<StatementIdentifier>) {
        for need in needs { dependents[need, default: []].insert(id) }
    }

    /// Removes and returns the statements that waited for one.
    mutating func remove(waitingFor id: StatementIdentifier) -> Set<StatementIdentifier> { dependents.removeValue(forKey: id) ?? [] }
}
