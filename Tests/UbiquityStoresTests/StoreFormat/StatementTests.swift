internal import StoreFormat
internal import Testing
internal import UbiquityContainers

struct StatementTests {
    // An account's devices are named by the account and a UUID, of which a statement holds the UUID.
    private static let peer = PeerIdentifier("\(account)~0785bf93-b82f-4b53-9fa1-b45b2ee096c3")!
    private static let other = PeerIdentifier("\(account)~1fac08f1-c2e6-4047-92c5-93ca8ffd2ed6")!
    private static let key = PrivateKey(bytes: Array(1...32))!
    private static let container = ScopeIdentifier(ContentHash(of: [2]))
    private static let account = AccountIdentifier(hash(4))
    private static let base = BaselineID(peer: peer, name: BaselineName(sequence: 2, hash: hash(1)))

    private static func hash(_ byte: UInt8) -> ContentHash { ContentHash(of: [byte]) }

    private static var policy: Policy {
        var policy = Policy(
            version: 3, predecessor: StatementIdentifier(hash(3)), owner: account, steward: key.publicKey, stewardPeer: peer)
        policy.term = 1
        policy.merges = [StatementIdentifier(hash(5)), StatementIdentifier(hash(6))]
        policy.heirs = [PrivateKey(bytes: Array(2...33))!.publicKey, key.publicKey]
        policy.access = ["score": .creator("player"), "template": .role("editor")]
        policy.roles = ["editor": [account, AccountIdentifier(hash(7))], "moderator": []]
        policy.pins = [account: StatementIdentifier(hash(8))]
        policy.cuts = [
            .init(account: account, before: 2, sparing: [key.publicKey, PrivateKey(bytes: Array(3...34))!.publicKey]),
            .init(account: account, before: 3),
        ]
        policy.base = base
        policy.epoch = 4
        policy.admission = .registrars([key.publicKey])
        policy.limits.logs = 9
        policy.limits.records = 0
        return policy
    }

    private static func knowledge() -> Knowledge {
        var knowledge = Knowledge([peer: .init(sequence: 3, hash: hash(1))])
        knowledge.insert(.init(sequence: 2, hash: hash(9)), of: peer)
        knowledge.insertHole(.init(sequence: 5, hash: hash(9)), of: other)
        return knowledge
    }

    private static func expectRoundTrip<Value: SignedPayload>(_ value: Value) throws {
        let bytes = value.signed(with: key, in: container)
        let read = try Signed<Value>(decoding: bytes, in: container)
        #expect(read.value == value)
        #expect(read.signer == key.publicKey)
        #expect(read.id.hash == value.draft(by: key.publicKey).hash)
        // Every shorter file, and every file with one byte more or other, is refused.
        for count in bytes.indices { #expect(throws: LogFault.self) { try Signed<Value>(decoding: Array(bytes[..<count]), in: container) } }
        #expect(throws: LogFault.self) { try Signed<Value>(decoding: bytes + [0], in: container) }
        for index in bytes.indices {
            var altered = bytes
            altered[index] ^= 1
            #expect(throws: LogFault.self) { try Signed<Value>(decoding: altered, in: container) }
        }
    }

    @Test("A policy gives back what was signed, and no other bytes are taken for it")
    func policy() throws {
        try Self.expectRoundTrip(Self.policy)
        try Self.expectRoundTrip(Policy(version: 1, predecessor: nil, owner: Self.account, steward: Self.key.publicKey, stewardPeer: Self.peer))
    }

    @Test("An account's statement gives back what was signed, and no other bytes are taken for it")
    func account() throws {
        let devices = [Self.peer: Self.key.publicKey, Self.other: PrivateKey().publicKey]
        try Self.expectRoundTrip(AccountStatement(account: nil, version: 1, predecessor: nil, identity: Self.key.publicKey, devices: [:]))
        let unnamed = PeerIdentifier(account: AccountStatement.unnamed, uuid: Self.peer.uuid)
        let first = AccountStatement(
            account: nil, version: 1, predecessor: nil, identity: Self.key.publicKey, devices: [unnamed: Self.key.publicKey])
        let read = try Signed<AccountStatement>(decoding: first.signed(with: Self.key, in: Self.container), in: Self.container)
        let named = AccountIdentifier(read.id.hash).description
        #expect(read.value.devices == [PeerIdentifier(account: named, uuid: Self.peer.uuid): Self.key.publicKey])
        #expect(read.value.draft(by: Self.key.publicKey).hash == read.id.hash)
        try Self.expectRoundTrip(
            AccountStatement(
                account: Self.account, version: 2, predecessor: StatementIdentifier(Self.hash(3)), identity: Self.key.publicKey,
                devices: devices, base: Self.base))
    }

    @Test("An enrolment, an admittance and a warrant give back what was signed, and no other bytes are taken for them")
    func others() throws {
        let statement = StatementIdentifier(Self.hash(3))
        try Self.expectRoundTrip(
            Enrolment(
                account: Self.account, statement: statement, sponsor: Self.peer, certificate: statement, device: Self.other,
                key: PrivateKey().publicKey))
        try Self.expectRoundTrip(Enrolment(account: Self.account, statement: statement, device: Self.other, key: PrivateKey().publicKey))
        try Self.expectRoundTrip(Admittance(account: Self.account, policy: statement))
        try Self.expectRoundTrip(
            BaselineWarrant(
                domain: .slice(Self.account), baseline: Self.base, statement: statement, certificate: statement, knowledge: Self.knowledge()))
        try Self.expectRoundTrip(
            BaselineWarrant(domain: .roles, baseline: Self.base, statement: statement, certificate: nil, knowledge: Knowledge()))
    }

    @Test("P-08: a signed file of another container or of another kind is refused by name")
    func foreign() throws {
        let bytes = Self.policy.signed(with: Self.key, in: Self.container)
        let elsewhere = ScopeIdentifier(Self.hash(77))
        let fault = #expect(throws: LogFault.self) { try Signed<Policy>(decoding: bytes, in: elsewhere) }
        #expect(fault?.description.contains("signature is not valid") == true)
        let kind = #expect(throws: LogFault.self) { try Signed<AccountStatement>(decoding: bytes, in: Self.container) }
        #expect(kind?.description.contains("policy") == true)
        // A signature of one kind of file proves nothing about another: the kind is part of what is signed and of the hash.
        var renamed = bytes
        renamed[9] = Envelope.Kind.admittance.rawValue
        #expect(try !Envelope(decoding: renamed).isGenuine(in: Self.container))
    }

    @Test("A copy of a statement under another key is another statement")
    func copyUnderAnotherKey() throws {
        let thief = PrivateKey()
        let (first, second) = (Self.policy.signed(with: Self.key, in: Self.container), Self.policy.signed(with: thief, in: Self.container))
        let read = try (Signed<Policy>(decoding: first, in: Self.container), Signed<Policy>(decoding: second, in: Self.container))
        #expect(read.0.value == read.1.value)
        #expect(read.0.id != read.1.id)
    }

    @Test("A newer format or an unknown kind says to update; an unknown field is passed over")
    func future() throws {
        var bytes = Self.policy.signed(with: Self.key, in: Self.container)
        bytes[8] = 2
        #expect(#expect(throws: LogFault.self) { try Envelope(decoding: bytes) }?.description.contains("update this program") == true)
        bytes[8] = 1
        bytes[9] = 200
        #expect(#expect(throws: LogFault.self) { try Envelope(decoding: bytes) }?.description.contains("update this program") == true)
        var writer = WireWriter()
        writer.raw(Self.policy.encoded())
        writer.field(99, string: "later")
        let draft = Envelope.Draft(.policy, writer.bytes, by: Self.key.publicKey)
        let read = try Signed<Policy>(decoding: draft.signed(with: Self.key, in: Self.container), in: Self.container)
        #expect(read.value == Self.policy)
    }

    @Test("A policy that names a table, a role or an account twice is refused, because readers could differ on which counts")
    func twice() throws {
        for (number, twin) in [(9, "score"), (10, "editor")] {
            var writer = WireWriter()
            writer.raw(Self.policy.encoded())
            var entry = WireWriter()
            entry.field(1, string: twin)
            entry.field(number == 9 ? 3 : 2, bytes: number == 9 ? Array("x".utf8) : Self.account.hash.bytes)
            writer.field(number, bytes: entry.bytes)
            let file = Envelope.Draft(.policy, writer.bytes, by: Self.key.publicKey).signed(with: Self.key, in: Self.container)
            #expect(#expect(throws: LogFault.self) { try Signed<Policy>(decoding: file, in: Self.container) }?.description.contains("twice") == true)
        }
    }

    @Test("An identifier in base 32 has one spelling")
    func identifiers() {
        let text = Self.account.description
        #expect(text.count == 52)
        #expect(AccountIdentifier(text) == Self.account)
        #expect(AccountIdentifier(text.uppercased()) == nil)
        #expect(AccountIdentifier(String(text.dropLast())) == nil)
        #expect(ScopeIdentifier(Self.container.description) == Self.container)
    }
}
