package import StoreFormat
package import UbiquityContainers

/// The author of a log or a baseline, as its certificate names it.
package struct Author: Hashable, Sendable {
    package let account: AccountIdentifier
    package let peer: PeerIdentifier
    /// The key that must have signed the log.
    package let key: PublicKey
    /// The account's statement that names the device, or under which it was enrolled.
    package let statement: StatementIdentifier
}

/// The statements and enrolments of all accounts, and which statement of each is in effect.
///
/// The statement in effect is the greatest by version and hash among those whose base is here. Once in effect, a
/// statement stays so until a greater one is: its base may be removed when nobody needs it any more.
struct AccountRegistry: Sendable {
    private(set) var statements: [StatementIdentifier: Signed<AccountStatement>] = [:]
    private(set) var enrolments: [StatementIdentifier: Signed<Enrolment>] = [:]
    private var judged: [StatementIdentifier: Judgement] = [:]
    private var waiting = WaitingStatements()
    /// The statement in effect of each account.
    private(set) var inEffect: [AccountIdentifier: StatementIdentifier] = [:]
    /// The accepted statements that are greater than the one in effect.
    private var candidates: [AccountIdentifier: Set<StatementIdentifier>] = [:]
    private var awaited: [BaselineID: Set<AccountIdentifier>] = [:]
    private var enrolled: [StatementIdentifier: Set<StatementIdentifier>] = [:]

    // MARK: - What is known

    /// Returns what is known of a statement or enrolment.
    func judgement(of id: StatementIdentifier) -> Judgement { judged[id] ?? .waits(for: [id]) }

    /// Returns an account's statement in effect.
    func statement(of account: AccountIdentifier) -> Signed<AccountStatement>? { inEffect[account].flatMap { statements[$0] } }

    /// Returns an accepted statement of an account.
    func accepted(_ id: StatementIdentifier) -> Signed<AccountStatement>? { judged[id] == .accepted ? statements[id] : nil }

    /// Returns the greatest accepted statement that is not in effect, because its base is not here.
    func awaiting(_ account: AccountIdentifier) -> Signed<AccountStatement>? {
        candidates[account]?.compactMap { statements[$0] }.max { $0.precedes($1) }
    }

    /// Returns the devices that a statement names, and those that are enrolled under it.
    func devices(under id: StatementIdentifier) -> Set<Author> {
        guard let statement = statements[id] else { return [] }
        let named = statement.value.devices.map { Author(account: statement.account, peer: $0.key, key: $0.value, statement: id) }
        let others = enrolled[id, default: []].compactMap { enrolments[$0]?.value }.map {
            Author(account: statement.account, peer: $0.device, key: $0.key, statement: id)
        }
        return Set(named + others)
    }

    /// Returns the author that a certificate names.
    func author(_ peer: PeerIdentifier, _ certificate: StatementIdentifier) -> Result<Author, AuthorFault> {
        switch judgement(of: certificate) {
        case .waits(let needs): return .failure(.waits(needs))
        case .refused(let fault): return .failure(.refused(fault))
        case .accepted: break
        }
        if let statement = statements[certificate] {
            guard let key = statement.value.devices[peer] else { return .failure(.notNamed) }
            return .success(Author(account: statement.account, peer: peer, key: key, statement: certificate))
        }
        guard let enrolment = enrolments[certificate]?.value, enrolment.device == peer else { return .failure(.notNamed) }
        return .success(Author(account: enrolment.account, peer: peer, key: enrolment.key, statement: enrolment.statement))
    }

    /// Returns whether a statement lets an author act for the account: it names the device, or the device is enrolled
    /// under it.
    ///
    /// A device is its name and its key. A stolen device can enrol another under any name.
    static func names(_ author: Author, in statement: Signed<AccountStatement>) -> Bool {
        statement.id == author.statement || statement.value.devices[author.peer] == author.key
    }

    // MARK: - What arrives

    /// Adds statements, and returns those about which something is known now that was not before.
    mutating func insert(_ arrivals: [Statement]) -> Set<StatementIdentifier> {
        var todo: [StatementIdentifier] = []
        for arrival in arrivals {
            switch arrival {
            case .account(let signed): if statements.updateValue(signed, forKey: signed.id) == nil { todo.append(signed.id) }
            case .enrolment(let signed): if enrolments.updateValue(signed, forKey: signed.id) == nil { todo.append(signed.id) }
            default: break
            }
        }
        var known: Set<StatementIdentifier> = []
        while let id = todo.popLast() {
            let judgement = statements[id].map(judge) ?? judge(enrolments[id]!)
            judged[id] = judgement
            if case .waits(let needs) = judgement {
                waiting.insert(id, waitingFor: needs)
                continue
            }
            known.insert(id)
            todo += waiting.remove(waitingFor: id)
            guard judgement == .accepted else { continue }
            if let statement = statements[id] {
                // A lesser one than the one in effect is never in effect.
                if let current = self.statement(of: statement.account), statement.precedes(current) { continue }
                candidates[statement.account, default: []].insert(id)
                if let base = statement.value.base { awaited[base, default: []].insert(statement.account) }
            } else if let enrolment = enrolments[id]?.value {
                enrolled[enrolment.statement, default: []].insert(id)
            }
        }
        return known
    }

    private func judge(_ signed: Signed<AccountStatement>) -> Judgement {
        let value = signed.value
        guard let account = value.account else {
            guard value.version == 1 else { return .refused(.succession) }
            return signed.signer == value.identity ? .accepted : .refused(.signer)
        }
        let first = StatementIdentifier(account.hash)
        switch judgement(of: first) {
        case .waits: return .waits(for: [first])
        case .refused: return .refused(.names(first))
        case .accepted: break
        }
        guard let identity = statements[first]?.value.identity, statements[first]?.value.account == nil else { return .refused(.names(first)) }
        guard value.version > 1, value.identity == identity else { return .refused(.succession) }
        guard signed.signer == identity else { return .refused(.signer) }
        // Any later statement removes the devices that were enrolled unheard of.
        return value.base == nil ? .refused(.lacksBase) : .accepted
    }

    private func judge(_ signed: Signed<Enrolment>) -> Judgement {
        let value = signed.value
        var needs: Set<StatementIdentifier> = []
        for id in [value.statement, value.sponsor?.certificate].compactMap(\.self) {
            switch judgement(of: id) {
            case .waits: needs.insert(id)
            case .refused: return .refused(.names(id))
            case .accepted: break
            }
        }
        guard needs.isEmpty else { return .waits(for: needs) }
        guard let statement = statements[value.statement], statement.account == value.account else { return .refused(.names(value.statement)) }
        if let named = value.sponsor {
            guard case .success(let sponsor) = author(named.device, named.certificate), sponsor.statement == value.statement else {
                return .refused(.names(named.certificate))
            }
            guard signed.signer == sponsor.key else { return .refused(.signer) }
        } else {
            guard signed.signer == statement.value.identity else { return .refused(.signer) }
        }
        return statement.value.devices[value.device] == nil ? .accepted : .refused(.nameTaken(value.device))
    }

    // MARK: - What is in effect

    /// Returns the accounts that a statement or the arrival of a baseline concerns.
    func accounts(concerning known: Set<StatementIdentifier>, _ arrived: Set<BaselineID>) -> Set<AccountIdentifier> {
        var accounts = Set(known.compactMap { accepted($0)?.account })
        for baseline in arrived { accounts.formUnion(awaited[baseline, default: []]) }
        return accounts
    }

    /// Puts the greatest statement of an account into effect whose base is here, and returns whether that is news.
    mutating func settle(_ account: AccountIdentifier, _ here: Set<BaselineID>) -> Bool {
        let ready = candidates[account, default: []].compactMap { statements[$0] }.filter { $0.value.base.map(here.contains) ?? true }
        guard let best = ready.max(by: { $0.precedes($1) }) else { return false }
        put(best)
        return true
    }

    /// Puts a statement into effect.
    mutating func put(_ best: Signed<AccountStatement>) {
        inEffect[best.account] = best.id
        for id in candidates[best.account, default: []] where !best.precedes(statements[id]!) { candidates[best.account]?.remove(id) }
        if candidates[best.account]?.isEmpty == true { candidates[best.account] = nil }
    }

    /// Returns some devices of an account with all devices that they have enrolled, and those that these have enrolled.
    func withEnrolled(_ devices: Set<PeerIdentifier>, of account: AccountIdentifier) -> Set<PeerIdentifier> {
        // A thief can enrol a key of its own under the name of a device that has another.
        let keys = deviceKeys(of: account)
        var (found, todo) = (devices, devices)
        while !todo.isEmpty {
            let enrolled = enrolments.values.lazy.map(\.value).filter { enrolment in
                enrolment.account == account && enrolment.sponsor.map { todo.contains($0.device) } ?? false
                    && keys[enrolment.device].map { $0 == enrolment.key } ?? true
            }
            todo = Set(enrolled.map(\.device)).subtracting(found)
            found.formUnion(todo)
        }
        return found
    }

    /// Returns the devices of an account, with the one key that has each name.
    func deviceKeys(of account: AccountIdentifier) -> [PeerIdentifier: PublicKey] {
        guard let statement = inEffect[account] else { return [:] }
        let claims = Dictionary(grouping: devices(under: statement), by: \.peer)
        let enrolled = claims.compactMapValues { $0.count == 1 ? $0[0].key : nil }
        return enrolled.merging(statements[statement]?.value.devices ?? [:]) { $1 }
    }

    /// The bases of the statements that are not in effect and may be.
    var awaitedBases: Set<BaselineID> { Set(candidates.values.joined().compactMap { statements[$0]?.value.base }) }

    /// Returns the enrolment of a device with its key under a statement.
    func enrolment(of peer: PeerIdentifier, key: PublicKey, under statement: StatementIdentifier) -> StatementIdentifier? {
        enrolled[statement, default: []].sorted().first { enrolments[$0]?.value.device == peer && enrolments[$0]?.value.key == key }
    }

    /// Returns whether a statement has the right to be in effect.
    func isCandidate(_ id: StatementIdentifier) -> Bool { accepted(id).map { candidates[$0.account]?.contains(id) == true } ?? false }
}

/// Why a certificate names no author.
enum AuthorFault: Error, Hashable {
    /// The certificate, or what it depends on, is not here.
    case waits(Set<StatementIdentifier>)
    /// The certificate has no effect.
    case refused(StatementFault)
    /// The certificate is for another device.
    case notNamed
}
