import StoreAuthority
import StoreFormat
import UbiquityContainers
import UbiquityTesting

/// The container of a run, its accounts and devices, and their readers.
///
/// The owner's account is 0; 1 to 3 may hold roles; 4 contributes only; 5 is an attacker's from the start.
final class SignedWorld {
    /// The latest stamp that readers accept.
    static let latest: Int64 = 1 << 40
    static let owner = 0, holders = 1...3, contributor = 4, attacker = 5
    static let deviceCounts = [2, 2, 1, 2, 1, 1]

    var random: SeededRandom
    let without: SignedRule?
    private(set) var container = ScopeIdentifier(ContentHash(of: []))
    private(set) var files: [SimulatedFile] = []
    private var numbers = 0
    private(set) var logs: [Int: SimulatedLog] = [:]
    private(set) var baselines: [BaselineID: SimulatedBaseline] = [:]
    private(set) var policies: [StatementIdentifier: Signed<Policy>] = [:]
    private(set) var accountStatements: [StatementIdentifier: Signed<AccountStatement>] = [:]
    /// The policies that a key has signed which may sign them.
    var sound: [StatementIdentifier] = []
    /// The policies that the owner and the steward have meant.
    var meant: [StatementIdentifier] = []
    private(set) var devices: [SimulatedDevice] = []
    /// The devices of each account that its people know of.
    var members: [[SimulatedDevice]] = []
    private(set) var first: [Signed<AccountStatement>] = []
    private(set) var identities: [PublicKey] = []
    private var accounts: [AccountIdentifier: Int] = [:]
    /// The devices in an attacker's hand, and those that nobody uses any more.
    var evil: Set<Int> = [], dead: Set<Int> = []
    var readers: [Int: SimulatedReader] = [:]
    var signedOut: SimulatedReader!
    var wall: Int64 = 1000
    /// The honest saves for which a clock had no time left.
    var exhausted = 0
    /// The logs that a baseline of the steward, or of an account's device, holds.
    var heldByRoles = LogSet(), heldBySlices: [LogSet] = []
    var steward: SimulatedDevice!
    var theft: Theft?
    /// Whether logs are judged by all rules, in a run that is without one.
    var isStrict = false
    let heir: PublicKey, registrar: PublicKey
    var statistics = SignedOutcome.Statistics()
    /// What happened, for the report on one seed.
    var trace: ((String) -> Void)?

    /// The theft of the steward's key.
    struct Theft {
        let key: PublicKey
        /// The number of the first file that the thief may have signed.
        let start: Int
        var isRecovered = false
    }

    init(seed: UInt64, without rule: SignedRule?, trace: ((String) -> Void)? = nil) {
        random = SeededRandom(seed: seed)
        (without, self.trace) = (rule, trace)
        heir = Self.key(&random)
        registrar = Self.key(&random)
        populate()
    }

    func requires(_ rule: SignedRule) -> Bool { rule != without }

    /// The rules of the library that readers follow.
    var rules: Authority.Rules {
        var rules = Authority.Rules()
        rules.termsRank = requires(.terms)
        rules.forksFreeze = requires(.forkFreezes)
        return rules
    }

    /// Whether the steward's key is in a thief's hand.
    var isStolen: Bool { theft.map { !$0.isRecovered } ?? false }

    // MARK: - Chance

    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    func happens(_ chance: Double) -> Bool { Double.random(in: 0..<1, using: &random) < chance }
    func pick<Element>(_ elements: [Element]) -> Element { elements[number(0...elements.count - 1)] }

    private static func hash(_ random: inout SeededRandom) -> ContentHash {
        let words = (0..<4).map { _ in random.next() }
        return words.withUnsafeBytes { ContentHash(bytes: $0)! }
    }

    private static func key(_ random: inout SeededRandom) -> PublicKey { PublicKey(bytes: hash(&random).bytes)! }
    func hash() -> ContentHash { Self.hash(&random) }

    // MARK: - Files

    func add(_ kind: SimulatedFile.Kind, isTheft: Bool = false) -> SimulatedFile {
        defer { numbers += 1 }
        let file = SimulatedFile(number: numbers, kind: kind, isTheft: isTheft)
        files.append(file)
        return file
    }

    /// The number that the next file gets.
    var nextNumber: Int { numbers }

    @discardableResult
    func sign(_ policy: Policy, by key: PublicKey, isTheft: Bool = false) -> Signed<Policy> {
        let signed = Signed(id: StatementIdentifier(hash()), signer: key, value: policy)
        policies[signed.id] = signed
        _ = add(.statement(.policy(signed)), isTheft: isTheft)
        return signed
    }

    @discardableResult
    func sign(_ statement: AccountStatement, by key: PublicKey) -> Signed<AccountStatement> {
        let signed = Signed(id: StatementIdentifier(hash()), signer: key, value: statement)
        accountStatements[signed.id] = signed
        _ = add(.statement(.account(signed)))
        return signed
    }

    func sign(_ enrolment: Enrolment, by key: PublicKey) -> Signed<Enrolment> {
        let signed = Signed(id: StatementIdentifier(hash()), signer: key, value: enrolment)
        _ = add(.statement(.enrolment(signed)))
        return signed
    }

    func sign(_ warrant: BaselineWarrant, by key: PublicKey, isTheft: Bool = false) {
        _ = add(.statement(.warrant(Signed(id: StatementIdentifier(hash()), signer: key, value: warrant))), isTheft: isTheft)
    }

    func sign(_ admittance: Admittance, by key: PublicKey) {
        _ = add(.statement(.admittance(Signed(id: StatementIdentifier(hash()), signer: key, value: admittance))))
    }

    func baseline(
        by device: SimulatedDevice, _ domain: SimulatedDomain, _ logs: LogSet, _ registers: Registers, clock: Int64? = nil,
        effects: [Int: UInt64] = [:], isPoisoned: Bool = false
    ) -> SimulatedBaseline {
        let id = BaselineID(peer: device.peer, name: BaselineName(sequence: Int64(numbers + 1), hash: hash()))
        let latest = registers.records.values.flatMap { $0.columns.values.map(\.time) }.max() ?? 0
        let made = SimulatedBaseline(
            id: id, domain: domain, logs: logs, registers: registers, clock: clock ?? latest, effects: effects, isPoisoned: isPoisoned)
        baselines[id] = made
        _ = add(.baseline(made), isTheft: isPoisoned)
        return made
    }

    func write(
        by device: SimulatedDevice, signer: PublicKey, after previous: SimulatedLog?, naming policy: StatementIdentifier,
        _ changes: [SimulatedChange]
    ) -> SimulatedFile {
        let rights = LogRights(container: container, policy: policy, certificate: device.certificate)
        let log = SimulatedLog(
            number: numbers, device: device, signer: signer, hash: hash(), previous: previous, rights: rights, changes: changes)
        logs[log.number] = log
        statistics.logs += 1
        return add(.log(log))
    }

    func remove(_ number: Int) {
        files.removeAll { $0.number == number }
        statistics.trimmed += 1
    }

    /// Puts logs of a device back that a base lacks, as far as they are no longer in the container.
    func putBack(logsOf device: SimulatedDevice, lackedBy held: LogSet) {
        guard !evil.contains(device.number), !dead.contains(device.number) else { return }
        var log = device.last
        while let own = log {
            log = own.previous
            guard !held.contains(own.number), own.signer == device.key, !files.contains(where: { $0.number == own.number }) else { continue }
            files.append(SimulatedFile(number: own.number, kind: .log(own)))
            for reader in allReaders { reader.forget(own.number) }
            statistics.putBack += 1
        }
    }

    func logs(deliveredTo reader: SimulatedReader) -> [SimulatedLog] {
        files.compactMap { file in
            if case .log(let log) = file.kind, reader.has.contains(file.number) { log } else { nil }
        }
    }

    // MARK: - Accounts

    func domain(_ domain: SimulatedDomain) -> Domain {
        switch domain {
        case .roles: .roles
        case .slice(let account): .slice(first[account].account)
        }
    }

    func domain(_ domain: Domain) -> SimulatedDomain {
        switch domain {
        case .roles: .roles
        case .slice(let account): .slice(accounts[account]!)
        }
    }

    func account(_ number: Int) -> AccountIdentifier { first[number].account }
    func number(of account: AccountIdentifier) -> Int? { accounts[account] }

    /// Makes a device; with another's name, if an attacker wants that.
    func makeDevice(of account: Int, _ suffix: String, named peer: PeerIdentifier? = nil) -> SimulatedDevice {
        let words = hash().description.prefix(32)
        let digits = Array(words)
        let uuid = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
        let name = "\(["owner", "ann", "bob", "carl", "dora", "mallory"][account])\(devices.count)\(suffix)"
        let device = SimulatedDevice(
            number: devices.count, name: name, account: account, peer: peer ?? PeerIdentifier("\(name)~\(uuid)")!, key: Self.key(&random),
            certificate: StatementIdentifier(ContentHash(of: [])))
        devices.append(device)
        return device
    }

    private func populate() {
        for (number, count) in Self.deviceCounts.enumerated() {
            let own = (0..<count).map { _ in makeDevice(of: number, "") }
            identities.append(Self.key(&random))
            let devices = Dictionary(uniqueKeysWithValues: own.map { ($0.peer, $0.key) })
            let statement = sign(
                AccountStatement(account: nil, version: 1, predecessor: nil, identity: identities[number], devices: devices), by: identities[number])
            first.append(statement)
            accounts[statement.account] = number
            for device in own { device.certificate = statement.id }
            members.append(own)
            heldBySlices.append(LogSet())
        }
        evil.insert(members[Self.attacker][0].number)
        steward = members[Self.owner][0]
        var policy = Policy(version: 1, predecessor: nil, owner: account(Self.owner), steward: steward.key, stewardPeer: steward.peer)
        policy.heirs = [heir]
        for table in SimulatedTable.allCases { policy.access[table.rawValue] = table.role.map(TableAccess.role) ?? .creator("account") }
        for (role, chance) in [("editor", 0.6), ("moderator", 0.5)] {
            policy.roles[role] = Set([account(Self.owner)] + Self.holders.filter { _ in happens(chance) }.map(account))
        }
        for number in [Self.owner] + Array(Self.holders) { policy.pins[account(number)] = first[number].id }
        if happens(0.3) { policy.admission = .registrars([registrar]) }
        let signed = sign(policy, by: steward.key)
        sound.append(signed.id)
        meant.append(signed.id)
        container = ScopeIdentifier(signed.id.hash)
        for device in devices where !evil.contains(device.number) {
            readers[device.number] = SimulatedReader(self, device: device)
        }
        signedOut = SimulatedReader(self, device: nil)
        for reader in allReaders { deliverAll(to: reader) }
    }

    /// All readers, in one order.
    var allReaders: [SimulatedReader] { readers.keys.sorted().map { readers[$0]! } + [signedOut] }

    /// The readers whose devices nobody has stolen.
    var honestReaders: [SimulatedReader] { allReaders.filter { $0.device.map { !evil.contains($0.number) } ?? true } }

    func deliverAll(to reader: SimulatedReader) {
        for file in files { reader.deliver(file) }
        reader.settle()
    }
}
