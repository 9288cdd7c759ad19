internal import UbiquityContainers

extension Policy: SignedPayload {
    package static var kind: Envelope.Kind { .policy }

    private enum Field {
        static let version = 1, predecessor = 2, merges = 3, term = 4, owner = 5, steward = 6, stewardPeer = 7, heir = 8, access = 9, role = 10
        static let pin = 11, cut = 12, base = 13, epoch = 14, registrar = 15, limits = 16, isClosed = 17
    }

    package func encoded() -> [UInt8] {
        var writer = WireWriter(reserving: 512)
        writer.field(Field.version, varint: UInt64(version))
        if let predecessor { writer.field(Field.predecessor, hash: predecessor.hash) }
        for other in merges.sorted() { writer.field(Field.merges, hash: other.hash) }
        if term > 0 { writer.field(Field.term, varint: UInt64(term)) }
        writer.field(Field.owner, hash: owner.hash)
        writer.field(Field.steward, bytes: steward.bytes)
        writer.field(Field.stewardPeer, string: stewardPeer.description)
        for heir in heirs.sorted() { writer.field(Field.heir, bytes: heir.bytes) }
        for (table, access) in access.sorted(by: { $0.key < $1.key }) {
            writer.field(Field.access) { entry in
                entry.field(1, string: table)
                switch access {
                case .creator(let column): entry.field(2, string: column)
                case .role(let role): entry.field(3, string: role)
                }
            }
        }
        for (role, accounts) in roles.sorted(by: { $0.key < $1.key }) {
            writer.field(Field.role) { entry in
                entry.field(1, string: role)
                for account in accounts.sorted() { entry.field(2, hash: account.hash) }
            }
        }
        for (account, statement) in pins.sorted(by: { $0.key < $1.key }) {
            writer.field(Field.pin) { entry in
                entry.field(1, hash: account.hash)
                entry.field(2, hash: statement.hash)
            }
        }
        for cut in cuts.sorted(by: Cut.precedes) {
            writer.field(Field.cut) { entry in
                entry.field(1, hash: cut.account.hash)
                entry.field(2, varint: UInt64(cut.before))
                for key in cut.sparing.sorted() { entry.field(3, bytes: key.bytes) }
            }
        }
        if let base { writer.field(Field.base, base) }
        writer.field(Field.epoch, varint: UInt64(epoch))
        if case .registrars(let keys) = admission {
            writer.field(Field.isClosed, varint: 1)
            for key in keys.sorted() { writer.field(Field.registrar, bytes: key.bytes) }
        }
        writer.field(Field.limits) { entry in
            entry.field(1, varint: UInt64(limits.logs))
            entry.field(2, varint: UInt64(limits.records))
        }
        return writer.bytes
    }

    package init(fieldsOf bytes: ArraySlice<UInt8>) throws {
        var reader = WireReader(bytes)
        var (version, predecessor, owner, steward, stewardPeer): (Int64?, StatementIdentifier?, AccountIdentifier?, PublicKey?, PeerIdentifier?)
        var (term, base, epoch, isClosed, limits): (Int64, BaselineID?, Int64, Bool, Limits) = (0, nil, 1, false, Limits())
        var (merges, heirs, registrars, cuts): (Set<StatementIdentifier>, Set<PublicKey>, Set<PublicKey>, Set<Cut>) = ([], [], [], [])
        var (access, roles): ([String: TableAccess], [String: Set<AccountIdentifier>]) = ([:], [:])
        var pins: [AccountIdentifier: StatementIdentifier] = [:]
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.version: version = Int64(exactly: try value.number)
            case Field.predecessor: predecessor = try value.statement
            case Field.merges: merges.insert(try value.statement)
            case Field.term: term = try value.count
            case Field.owner: owner = try value.account
            case Field.steward: steward = try value.key
            case Field.stewardPeer: stewardPeer = try value.peer
            case Field.heir: heirs.insert(try value.key)
            case Field.access:
                let (table, rule) = try Self.access(try value.data)
                guard access.updateValue(rule, forKey: table) == nil else { throw LogFault.damaged("it names the table \(table) twice") }
            case Field.role:
                let (role, accounts) = try Self.role(try value.data)
                guard roles.updateValue(accounts, forKey: role) == nil else { throw LogFault.damaged("it names the role \(role) twice") }
            case Field.pin:
                let (account, statement) = try Self.pin(try value.data)
                guard pins.updateValue(statement, forKey: account) == nil else { throw LogFault.damaged("it pins an account twice") }
            case Field.cut: cuts.insert(try Self.cut(try value.data))
            case Field.base: base = try value.baseline
            case Field.epoch: epoch = try value.count
            case Field.registrar: registrars.insert(try value.key)
            case Field.isClosed: isClosed = try value.number != 0
            case Field.limits: limits = try Self.limits(try value.data)
            default: break
            }
        }
        guard let version, let owner, let steward, let stewardPeer, version > 0, epoch > 0 else { throw LogFault.damaged("it lacks a field") }
        guard (version == 1) == (predecessor == nil) else { throw LogFault.damaged("its predecessor does not fit its version") }
        self.init(version: version, predecessor: predecessor, owner: owner, steward: steward, stewardPeer: stewardPeer)
        (self.term, self.merges, self.heirs, self.access, self.roles, self.pins) = (term, merges, heirs, access, roles, pins)
        (self.cuts, self.base, self.epoch, self.limits) = (cuts, base, epoch, limits)
        admission = isClosed ? .registrars(registrars) : .open
    }

    private static func access(_ bytes: ArraySlice<UInt8>) throws -> (String, TableAccess) {
        var reader = WireReader(bytes)
        var (table, access): (String?, TableAccess?)
        while let (number, value) = try reader.nextField() {
            switch number {
            case 1: table = try value.string
            case 2: access = .creator(try value.string)
            case 3: access = .role(try value.string)
            default: break
            }
        }
        guard let table else { throw LogFault.damaged("it has an access rule without a table") }
        guard let access else { throw LogFault.newer("its access rule for the table \(table) is of an unknown kind") }
        return (table, access)
    }

    private static func role(_ bytes: ArraySlice<UInt8>) throws -> (String, Set<AccountIdentifier>) {
        var reader = WireReader(bytes)
        var (role, accounts): (String?, Set<AccountIdentifier>) = (nil, [])
        while let (number, value) = try reader.nextField() {
            switch number {
            case 1: role = try value.string
            case 2: accounts.insert(try value.account)
            default: break
            }
        }
        guard let role else { throw LogFault.damaged("it has a role without a name") }
        return (role, accounts)
    }

    private static func pin(_ bytes: ArraySlice<UInt8>) throws -> (AccountIdentifier, StatementIdentifier) {
        var reader = WireReader(bytes)
        var (account, statement): (AccountIdentifier?, StatementIdentifier?)
        while let (number, value) = try reader.nextField() {
            switch number {
            case 1: account = try value.account
            case 2: statement = try value.statement
            default: break
            }
        }
        guard let account, let statement else { throw LogFault.damaged("it has a pin that lacks a field") }
        return (account, statement)
    }

    private static func cut(_ bytes: ArraySlice<UInt8>) throws -> Cut {
        var reader = WireReader(bytes)
        var (account, before, sparing): (AccountIdentifier?, Int64?, Set<PublicKey>) = (nil, nil, [])
        while let (number, value) = try reader.nextField() {
            switch number {
            case 1: account = try value.account
            case 2: before = try value.count
            case 3: sparing.insert(try value.key)
            default: break
            }
        }
        guard let account, let before else { throw LogFault.damaged("it has a cut that lacks a field") }
        return Cut(account: account, before: before, sparing: sparing)
    }

    private static func limits(_ bytes: ArraySlice<UInt8>) throws -> Limits {
        var reader = WireReader(bytes)
        var limits = Limits()
        while let (number, value) = try reader.nextField() {
            switch number {
            case 1: limits.logs = try value.count
            case 2: limits.records = try value.count
            default: break
            }
        }
        return limits
    }
}

extension Policy.Cut {
    /// Orders cuts, so that equal policies have equal bytes.
    static func precedes(_ left: Self, _ right: Self) -> Bool {
        if left.account != right.account { return left.account < right.account }
        if left.before != right.before { return left.before < right.before }
        return left.sparing.sorted().lexicographicallyPrecedes(right.sparing.sorted())
    }
}
