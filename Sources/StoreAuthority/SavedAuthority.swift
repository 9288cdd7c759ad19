internal import StoreFormat
internal import UbiquityContainers

extension Authority {
    private enum Field { static let container = 1, statement = 2, inEffect = 3, baseline = 4, emptied = 5 }

    /// The authority as bytes, for the store to keep.
    ///
    /// The store saves them in the transaction that performs an enactment's rebuilds. A statement that is in effect stays
    /// so although its base may be gone, so that this cannot be computed again from the files.
    package var saved: [UInt8] {
        var writer = WireWriter(reserving: 4096)
        writer.field(Field.container, bytes: container.hash.bytes)
        for statement in statements { writer.field(Field.statement, bytes: statement.saved) }
        for id in (accounts.inEffect.values + [policies.inEffect].compactMap { $0 }).sorted() { writer.field(Field.inEffect, bytes: id.hash.bytes) }
        for baseline in baselines.sorted() { writer.field(Field.baseline, bytes: baseline.saved) }
        for account in emptied.sorted() { writer.field(Field.emptied, bytes: account.hash.bytes) }
        return writer.bytes
    }

    /// All statements, in the order of their hashes.
    private var statements: [Statement] {
        var all = accounts.statements.values.map(Statement.account) + accounts.enrolments.values.map(Statement.enrolment)
        all += policies.policies.values.map(Statement.policy) + admission.all.map(Statement.admittance)
        all += warrants.values.flatMap(\.values).map(Statement.warrant)
        return all.sorted { $0.id < $1.id }
    }

    /// Reads an authority that was saved.
    ///
    /// Returns nil if the bytes are damaged.
    package init?(saved: [UInt8], rules: Rules = .init()) {
        var reader = WireReader(saved[...])
        var (statements, inEffect, baselines): ([Statement], Set<StatementIdentifier>, Set<BaselineID>) = ([], [], [])
        var (container, emptied): (ScopeIdentifier?, Set<AccountIdentifier>) = (nil, [])
        do {
            while let (number, value) = try reader.nextField() {
                switch number {
                case Field.container: container = ContentHash(bytes: try value.data).map(ScopeIdentifier.init)
                case Field.statement: statements.append(try Statement(saved: try value.data))
                case Field.inEffect: inEffect.insert(StatementIdentifier(try value.savedHash))
                case Field.baseline: baselines.insert(try BaselineID(saved: try value.data))
                case Field.emptied: emptied.insert(AccountIdentifier(try value.savedHash))
                default: return nil
                }
            }
        } catch {
            return nil
        }
        guard let container else { return nil }
        self.init(container: container, rules: rules)
        guard restore(statements, inEffect, baselines, emptied) else { return nil }
    }
}

extension WireReader.Value {
    fileprivate var savedHash: ContentHash {
        get throws {
            guard let hash = ContentHash(bytes: try data) else { throw LogFault.damaged("it has a hash that is not 32 bytes") }
            return hash
        }
    }
}

extension Statement {
    private enum Field { static let kind = 1, id = 2, signer = 3, payload = 4 }

    fileprivate var saved: [UInt8] {
        func bytes<Value: SignedPayload>(_ signed: Signed<Value>) -> [UInt8] {
            var entry = WireWriter()
            entry.field(Field.kind, varint: UInt64(Value.kind.rawValue))
            entry.field(Field.id, bytes: signed.id.hash.bytes)
            entry.field(Field.signer, bytes: signed.signer.bytes)
            entry.field(Field.payload, bytes: signed.value.encoded())
            return entry.bytes
        }
        return switch self {
        case .policy(let signed): bytes(signed)
        case .account(let signed): bytes(signed)
        case .enrolment(let signed): bytes(signed)
        case .admittance(let signed): bytes(signed)
        case .warrant(let signed): bytes(signed)
        }
    }

    fileprivate init(saved bytes: ArraySlice<UInt8>) throws {
        var reader = WireReader(bytes)
        var (kind, id, signer, payload): (Envelope.Kind?, ContentHash?, PublicKey?, ArraySlice<UInt8>?)
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.kind: kind = UInt8(exactly: try value.number).flatMap(Envelope.Kind.init)
            case Field.id: id = try value.savedHash
            case Field.signer: signer = PublicKey(bytes: try value.data)
            case Field.payload: payload = try value.data
            default: break
            }
        }
        guard let kind, let id, let signer, let payload else { throw LogFault.damaged("it lacks a field") }
        func signed<Value: SignedPayload>() throws -> Signed<Value> {
            Signed(id: StatementIdentifier(id), signer: signer, value: try Value(fieldsOf: payload).named(by: StatementIdentifier(id)))
        }
        switch kind {
        case .policy: self = .policy(try signed())
        case .account: self = .account(try signed())
        case .enrolment: self = .enrolment(try signed())
        case .admittance: self = .admittance(try signed())
        case .baseline: self = .warrant(try signed())
        case .receipt: throw LogFault.damaged("it is a receipt")
        case .head: throw LogFault.damaged("it is a head")
        }
    }
}

extension BaselineID {
    fileprivate var saved: [UInt8] {
        var entry = WireWriter()
        entry.field(1, string: peer.description)
        entry.field(2, string: name.description)
        return entry.bytes
    }

    fileprivate init(saved bytes: ArraySlice<UInt8>) throws {
        var reader = WireReader(bytes)
        var (peer, name): (PeerIdentifier?, BaselineName?)
        while let (number, value) = try reader.nextField() {
            if number == 1 { peer = PeerIdentifier(try value.string) } else if number == 2 { name = BaselineName(try value.string) }
        }
        guard let peer, let name else { throw LogFault.damaged("it lacks a field") }
        self.init(peer: peer, name: name)
    }
}
