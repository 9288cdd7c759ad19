import StoreAuthority
import StoreFormat
import Testing
import UbiquityContainers

/// The statements of a container, made without files: a key is the hash of its name, and nothing is signed.
///
/// The owner has the devices o1, the steward, and o2; Ann, an editor, has a1 and a2; Bob has b1.
final class StatementFixture {
    private var number = 0
    private(set) var all: [Statement] = []
    private(set) var owner: Signed<AccountStatement>!
    private(set) var ann: Signed<AccountStatement>!
    private(set) var bob: Signed<AccountStatement>!
    private(set) var first: Signed<Policy>!

    init() {
        owner = account("owner", ["o1", "o2"])
        ann = account("ann", ["a1", "a2"])
        bob = account("bob", ["b1"])
        var policy = Policy(version: 1, predecessor: nil, owner: owner.account, steward: Self.key("o1"), stewardPeer: Self.peer("o1"))
        policy.heirs = [Self.key("heir")]
        policy.access = ["template": .role("editor"), "block": .role("moderator"), "score": .creator("player")]
        policy.roles = ["editor": [owner.account, ann.account], "moderator": [owner.account]]
        policy.pins = [owner.account: owner.id, ann.account: ann.id]
        first = sign(policy, by: "o1")
    }

    static func key(_ name: String) -> PublicKey { PublicKey(bytes: ContentHash(of: Array("key of \(name)".utf8)).bytes)! }

    /// The account of a device: the first letter tells it.
    private static func account(of device: String) -> String {
        switch device.first {
        case "o": "owner"
        case "b": "bob"
        case "c": "carl"
        default: "ann"
        }
    }

    private static func accountHash(_ name: String) -> ContentHash { ContentHash(of: Array("account \(name)".utf8)) }

    static func peer(_ name: String) -> PeerIdentifier {
        let digits = Array(ContentHash(of: Array(name.utf8)).description.prefix(32))
        let parts = [digits[0..<8], digits[8..<12], digits[12..<16], digits[16..<20], digits[20..<32]].map { String($0) }
        return PeerIdentifier("\(AccountIdentifier(accountHash(account(of: name))))~\(parts.joined(separator: "-"))")!
    }

    static func devices(_ names: [String]) -> [PeerIdentifier: PublicKey] {
        Dictionary(uniqueKeysWithValues: names.map { (peer($0), key($0)) })
    }

    var container: ScopeIdentifier { ScopeIdentifier(first.id.hash) }

    private func hash() -> ContentHash {
        number += 1
        return ContentHash(of: Array("statement \(number)".utf8))
    }

    func baseline(by peer: String) -> BaselineID {
        BaselineID(peer: Self.peer(peer), name: BaselineName(sequence: Int64(number + 1), hash: hash()))
    }

    private func keep<Value>(_ value: Value, by signer: String, _ kind: (Signed<Value>) -> Statement) -> Signed<Value> {
        let signed = Signed(id: StatementIdentifier(hash()), signer: Self.key(signer), value: value)
        all.append(kind(signed))
        return signed
    }

    func sign(_ policy: Policy, by signer: String) -> Signed<Policy> { keep(policy, by: signer, Statement.policy) }
    func sign(_ statement: AccountStatement, by signer: String) -> Signed<AccountStatement> {
        keep(statement, by: signer, Statement.account)
    }
    func sign(_ admittance: Admittance, by signer: String) -> Signed<Admittance> { keep(admittance, by: signer, Statement.admittance) }

    /// The first statement of an account, whose identity key has the account's name.
    func account(_ name: String, _ devices: [String]) -> Signed<AccountStatement> {
        let value = AccountStatement(
            account: nil, version: 1, predecessor: nil, identity: Self.key(name), devices: Self.devices(devices))
        let signed = Signed(id: StatementIdentifier(Self.accountHash(name)), signer: Self.key(name), value: value)
        all.append(.account(signed))
        return signed
    }

    /// A later statement of an account.
    func statement(
        after last: Signed<AccountStatement>, _ devices: [String], base: BaselineID?, by signer: String
    ) -> Signed<AccountStatement> {
        let value = AccountStatement(
            account: last.account, version: last.value.version + 1, predecessor: last.id, identity: last.value.identity,
            devices: Self.devices(devices), base: base)
        return sign(value, by: signer)
    }

    func policy(after last: Signed<Policy>, by signer: String = "o1", _ change: (inout Policy) -> Void = { _ in }) -> Signed<Policy> {
        var policy = last.value
        (policy.version, policy.predecessor, policy.merges, policy.base) = (last.value.version + 1, last.id, [], nil)
        change(&policy)
        return sign(policy, by: signer)
    }

    /// The enrolment of a device by another.
    func enrolment(
        of device: String, by sponsor: String, certificate: StatementIdentifier, under statement: Signed<AccountStatement>, key: String? = nil
    ) -> Signed<Enrolment> {
        let value = Enrolment(
            account: statement.account, statement: statement.id, sponsor: Self.peer(sponsor), certificate: certificate, device: Self.peer(device),
            key: Self.key(key ?? device))
        return keep(value, by: sponsor, Statement.enrolment)
    }

    /// The enrolment of a device by a key, without a sponsor.
    func enrolment(of device: String, under statement: Signed<AccountStatement>, by signer: String) -> Signed<Enrolment> {
        let value = Enrolment(account: statement.account, statement: statement.id, device: Self.peer(device), key: Self.key(device))
        return keep(value, by: signer, Statement.enrolment)
    }

    func warrant(
        of baseline: BaselineID, in domain: Domain, under statement: StatementIdentifier, certificate: StatementIdentifier? = nil, by signer: String
    ) -> Signed<BaselineWarrant> {
        let value = BaselineWarrant(domain: domain, baseline: baseline, statement: statement, certificate: certificate, knowledge: Knowledge())
        return keep(value, by: signer, Statement.warrant)
    }

    /// An authority that has read all statements so far.
    func authority(baselines: [BaselineID] = []) -> Authority {
        var authority = Authority(container: container)
        _ = authority.insert(all, baselines: baselines)
        return authority
    }

    func rights(_ policy: Signed<Policy>, _ certificate: StatementIdentifier) -> LogRights {
        LogRights(container: container, policy: policy.id, certificate: certificate)
    }
}

extension Authority {
    /// Returns why a change does not count, or nil if it does; a log that waits is an issue of the test.
    func refusal(
        of table: String, owner: AccountIdentifier? = nil, _ policy: Signed<Policy>, by peer: String, _ certificate: StatementIdentifier
    ) -> Rejection? {
        let rights = LogRights(container: container, policy: policy.id, certificate: certificate)
        switch verdict(on: rights, by: StatementFixture.peer(peer), sequence: 1, isCurated: owner == nil) {
        case .waits(let needs):
            Issue.record("the log of \(peer) waits for \(needs)")
            return nil
        case .rejected(let reason): return reason
        case .counts(let grant): return grant.refusal(of: table, owner: owner)
        }
    }

    func verdict(_ policy: Signed<Policy>, by peer: String, _ certificate: StatementIdentifier, isCurated: Bool = true) -> Verdict {
        let rights = LogRights(container: container, policy: policy.id, certificate: certificate)
        return verdict(on: rights, by: StatementFixture.peer(peer), sequence: 1, isCurated: isCurated)
    }
}
