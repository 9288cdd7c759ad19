import StoreAuthority
import StoreFormat
import Testing
import UbiquityContainers
import UbiquityTesting

/// Statements of everybody, forged ones too, in all orders.
struct StatementOrderTests {
    /// Statements that follow each other at random, by keys that may and that may not sign them.
    private struct Draw {
        let made = StatementFixture()
        var random: SeededRandom
        var policies: [Signed<Policy>]
        var statements: [Signed<AccountStatement>]
        /// The certificates and the devices that they may name.
        var certificates: [(id: StatementIdentifier, device: String, under: Signed<AccountStatement>)]
        var baselines: [BaselineID] = []
        var admittances: [Signed<Admittance>] = []

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            (policies, statements) = ([made.first], [made.owner, made.ann, made.bob])
            certificates = [(made.ann.id, "a1", made.ann), (made.ann.id, "a2", made.ann), (made.bob.id, "b1", made.bob)]
            for _ in 0..<14 { add() }
        }

        private mutating func pick<Value>(_ values: [Value]) -> Value { values.randomElement(using: &random)! }
        private mutating func happens(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
        /// Returns a value, or rarely another one.
        private mutating func mostly<Value>(_ value: Value, or others: [Value]) -> Value { happens(85) ? value : pick(others) }

        private mutating func baseline() -> BaselineID {
            let baseline = made.baseline(by: "o1")
            baselines.append(baseline)
            return baseline
        }

        private mutating func add() {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...4: addPolicy()
            case 5...6: addStatement()
            case 7...8: addEnrolment()
            default:
                let admittance = Admittance(account: pick([made.ann.account, made.bob.account]), policy: pick(policies).id)
                admittances.append(made.sign(admittance, by: pick(["registrar", "bob"])))
            }
        }

        private mutating func addPolicy() {
            let last = mostly(policies.max { $0.value.version < $1.value.version }!, or: policies)
            let isTerm = happens(15)
            var signer = mostly(isTerm ? "owner" : "o1", or: ["heir", "a1", "bob", "owner", "o1"])
            let (role, account) = (pick(["editor", "moderator"]), pick([made.ann.account, made.bob.account]))
            let (pin, base) = (pick(statements), happens(60) ? baseline() : nil)
            let merged = happens(25) ? pick(policies) : nil
            let (version, admission) = (mostly(last.value.version + 1, or: [2, 3, 4]), happens(20))
            let (steward, access) = (happens(5), happens(5))
            if isTerm, happens(50) { signer = "heir" }
            policies.append(
                made.policy(after: last, by: signer) { policy in
                    policy.version = version
                    if isTerm { policy.term += 1 }
                    if policy.roles[role]?.remove(account) == nil { policy.roles[role]?.insert(account) }
                    policy.pins[pin.account] = pin.id
                    policy.base = base
                    if base != nil { policy.cuts.insert(.init(account: account, before: version, sparing: [])) }
                    if let merged, merged.id != last.id { policy.merges = [merged.id] }
                    if admission { policy.admission = .registrars([StatementFixture.key("registrar")]) }
                    if steward { policy.steward = StatementFixture.key("a1") }
                    if access { policy.access["template"] = .creator("player") }
                })
        }

        private mutating func addStatement() {
            let last = pick(statements)
            let name = last.account == made.ann.account ? "ann" : last.account == made.bob.account ? "bob" : "owner"
            let devices = ["ann": ["a1", "a3"], "bob": ["b1", "b2"], "owner": ["o1", "o2"]][name]!.filter { _ in happens(70) }
            let base = mostly(baseline(), or: [baseline()])
            statements.append(made.statement(after: last, devices, base: happens(85) ? base : nil, by: mostly(name, or: ["a1", "ann", "bob"])))
        }

        private mutating func addEnrolment() {
            let sponsor = pick(certificates)
            let device = String(sponsor.device.first!) + pick(["1", "2", "3", "4"])
            let statement = mostly(sponsor.under, or: statements)
            let enrolment = made.enrolment(of: device, by: sponsor.device, certificate: sponsor.id, under: statement)
            certificates.append((enrolment.id, device, statement))
        }
    }

    /// What an authority says of everything.
    private struct Findings: Equatable {
        var judgements: [String]
        var verdicts: [String]

        init(_ authority: Authority, _ draw: Draw) {
            judgements = draw.made.all.map { statement in
                switch authority.judgement(of: statement.id) {
                case .accepted: "accepted"
                // Which of the statements that it names was the first to be found void may depend on the order.
                case .refused(.names): "refused for what it names"
                case .refused(let fault): "refused: \(fault)"
                case .waits: "waits"
                }
            }
            verdicts = []
            // While a fork lasts, what was in effect when it was seen stays so.
            guard !authority.isForked else { return }
            verdicts.append("\(authority.policy?.id.description ?? "none"), base \(authority.base(of: .roles).map { "\($0)" } ?? "none")")
            verdicts += authority.knownAccounts.sorted().map {
                "\($0): \(authority.statement(of: $0)!.id), \(authority.isAdmitted($0)), \(authority.base(of: .slice($0)).map { "\($0)" } ?? "none")"
            }
            for policy in draw.policies {
                for (certificate, device, _) in draw.certificates {
                    for isCurated in [false, true] {
                        let verdict = authority.verdict(policy, by: device, certificate, isCurated: isCurated)
                        guard case .counts(let grant) = verdict else {
                            if case .waits = verdict { verdicts.append("waits") } else { verdicts.append("rejected") }
                            continue
                        }
                        let slice = grant.refusal(of: "score", owner: grant.author.account)?.description
                        verdicts.append(
                            [slice, grant.refusal(of: "template", owner: nil)?.description].map { $0 ?? "counts" }.joined(separator: ", "))
                    }
                }
            }
        }
    }

    /// Reads statements and baselines in an order and in batches, saved and read back in between at times.
    private static func read(_ draw: Draw, _ random: inout SeededRandom) throws -> Findings {
        enum Arrival { case statement(Statement), baseline(BaselineID) }
        var authority = Authority(container: draw.made.container)
        let arrivals = (draw.made.all.map(Arrival.statement) + draw.baselines.map(Arrival.baseline)).shuffled(using: &random)
        var rest = arrivals[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Int.random(in: 1...6, using: &random))
            rest = rest.dropFirst(batch.count)
            var (statements, baselines): ([Statement], [BaselineID]) = ([], [])
            for arrival in batch {
                switch arrival {
                case .statement(let statement): statements.append(statement)
                case .baseline(let baseline): baselines.append(baseline)
                }
            }
            _ = authority.insert(statements, baselines: baselines)
            // A store looks for awaited bases each time.
            let seen = Set(arrivals[..<rest.startIndex].compactMap { if case .baseline(let baseline) = $0 { baseline } else { nil } })
            _ = authority.insert([], baselines: authority.awaitedBases.intersection(seen))
            if Bool.random(using: &random) { authority = try restored(authority) }
        }
        return Findings(authority, draw)
    }

    private static func restored(_ authority: Authority) throws -> Authority {
        let restored = Authority(saved: authority.saved)
        return try #require(restored)
    }

    @Test("what follows from statements, forged ones too, is the same in every order and in any batches", arguments: [UInt64](1...400))
    func orders(_ seed: UInt64) throws {
        let draw = Draw(seed: seed)
        var random = SeededRandom(seed: seed)
        let first = try Self.read(draw, &random)
        for order in 0..<6 { #expect(try Self.read(draw, &random) == first, "seed \(seed), order \(order)") }
    }
}
