internal import StoreFormat
internal import UbiquityContainers

/// What a store has to save of an authority that has changed.
package struct AuthorityChange: Sendable {
    /// A statement, or the fact that one is in effect or a baseline has been here.
    package struct Entry: Sendable {
        /// Names the entry among all of an authority.
        package var key: [UInt8]
        package var bytes: [UInt8]
    }

    /// The new entries, in the order of their keys.
    package var added: [Entry] = []
    /// The keys of the entries that are no longer true.
    package var removed: [[UInt8]] = []

    fileprivate mutating func add<Element: Hashable>(
        _ field: Int, _ elements: Set<Element>, since former: Set<Element>, key: (Element) -> [UInt8], bytes: (Element) -> [UInt8]
    ) {
        added += elements.subtracting(former).map { Entry(field, key($0), bytes($0)) }
        removed += former.subtracting(elements).map { Entry.key(field, key($0)) }
    }
}

extension AuthorityChange.Entry {
    fileprivate init(_ field: Int, _ key: [UInt8], _ payload: [UInt8]) {
        var writer = WireWriter(reserving: payload.count + 8)
        writer.field(field, bytes: payload)
        (self.key, bytes) = (Self.key(field, key), writer.bytes)
    }

    fileprivate static func key(_ field: Int, _ key: [UInt8]) -> [UInt8] { [UInt8(field)] + key }
}

extension Authority {
    private enum Field { static let container = 1, statement = 2, inEffect = 3, baseline = 4, emptied = 5 }

    /// The authority as bytes: all its entries.
    package var saved: [UInt8] { change(since: nil).added.flatMap(\.bytes) }

    /// Returns what a store has to save.
    ///
    /// The store saves it in the transaction that performs an enactment's rebuilds. A statement that is in effect stays
    /// so although its base may be gone, so that this cannot be computed again from the files. The cost of saving depends
    /// on what has changed, because a public container can have a statement of each of many thousand accounts.
    ///
    /// - Parameter former: the authority as it was saved last; nil to save it whole.
    /// - Returns: the change.
    package func change(since former: Authority?) -> AuthorityChange {
        var change = AuthorityChange()
        if former == nil { change.added.append(.init(Field.container, [], container.hash.bytes)) }
        change.added += statements(since: former).map { .init(Field.statement, $0.id.hash.bytes, $0.saved) }
        change.add(Field.inEffect, inEffect, since: former?.inEffect ?? [], key: \.hash.bytes, bytes: \.hash.bytes)
        change.add(Field.baseline, baselines, since: former?.baselines ?? [], key: \.saved, bytes: \.saved)
        change.add(Field.emptied, emptied, since: former?.emptied ?? [], key: \.hash.bytes, bytes: \.hash.bytes)
        change.added.sort { $0.key.lexicographicallyPrecedes($1.key) }
        return change
    }

    private var inEffect: Set<StatementIdentifier> { Set(accounts.inEffect.values).union(policies.inEffect.map { [$0] } ?? []) }

    /// Returns the statements that another authority does not have.
    private func statements(since former: Authority?) -> [Statement] {
        var new = accounts.statements.values.filter { former?.accounts.statements[$0.id] == nil }.map(Statement.account)
        new += accounts.enrolments.values.filter { former?.accounts.enrolments[$0.id] == nil }.map(Statement.enrolment)
        new += policies.policies.values.filter { former?.policies.policies[$0.id] == nil }.map(Statement.policy)
        new += admission.all.filter { former?.admission.contains($0) != true }.map(Statement.admittance)
        for (baseline, signed) in warrants {
            new += signed.values.filter { former?.warrants[baseline]?[$0.id] == nil }.map(Statement.warrant)
        }
        return new
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
