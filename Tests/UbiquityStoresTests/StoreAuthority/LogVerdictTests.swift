import StoreAuthority
import StoreFormat
import Testing
import UbiquityContainers

/// Which changes of which logs count.
struct LogVerdictTests {
    private let made = StatementFixture()

    @Test("P-05: a contributed record counts in a log of its own account only, a curated one in logs of the accounts that hold the table's role")
    func domains() {
        let authority = made.authority()
        let (ann, bob, owner) = (made.ann!, made.bob!, made.owner!)
        #expect(authority.refusal(of: "score", owner: bob.account, made.first, by: "b1", bob.id) == nil)
        #expect(authority.refusal(of: "score", owner: ann.account, made.first, by: "b1", bob.id) == .foreign)
        #expect(authority.refusal(of: "template", made.first, by: "a1", ann.id) == nil)
        #expect(authority.refusal(of: "block", made.first, by: "a1", ann.id) == .role("moderator"))
        #expect(authority.refusal(of: "block", made.first, by: "o2", owner.id) == nil)
        #expect(authority.refusal(of: "template", made.first, by: "b1", bob.id) == .unknownDevice)
        #expect(authority.refusal(of: "score", made.first, by: "b1", bob.id) == .foreign)
        #expect(authority.refusal(of: "template", owner: ann.account, made.first, by: "a1", ann.id) == .foreign)
        #expect(authority.refusal(of: "secret", made.first, by: "a1", ann.id) == .table("secret"))
    }

    @Test("P-08: a log of another container, or with another account's certificate, is rejected by name")
    func forged() {
        let authority = made.authority()
        let other = LogRights(container: ScopeIdentifier(made.ann.id.hash), policy: made.first.id, certificate: made.ann.id)
        #expect(authority.verdict(on: other, by: StatementFixture.peer("a1"), sequence: 1, isCurated: false) == .rejected(.container))
        #expect(authority.verdict(made.first, by: "b1", made.ann.id) == .rejected(.author))
        #expect(authority.author(StatementFixture.peer("a1"), certificate: made.ann.id)?.key == StatementFixture.key("a1"))
        #expect(authority.author(StatementFixture.peer("b1"), certificate: made.ann.id) == nil)
    }

    @Test("a log waits for the policy that it names and for its certificate, and says for which")
    func waits() {
        let second = made.policy(after: made.first) { $0.limits.logs = 7 }
        let carl = made.account("carl", ["c1"])
        var authority = Authority(container: made.container)
        #expect(authority.verdict(second, by: "c1", carl.id) == .waits(for: [.statement(second.id), .statement(carl.id)]))
        _ = authority.insert(made.all.filter { $0.id != second.id && $0.id != carl.id })
        #expect(authority.verdict(second, by: "c1", carl.id) == .waits(for: [.statement(second.id), .statement(carl.id)]))
        let enactment = authority.insert([.account(carl), .policy(second)])
        #expect(enactment.judgesAgain && enactment.policy == second.id && enactment.accounts == [carl.account])
        #expect(authority.refusal(of: "score", owner: carl.account, second, by: "c1", carl.id) == nil)
    }

    @Test(
        "P-10: a right lasts as long as the policy that a log names gives it, and ends with the policy that removes the account, also for old names")
    func cut() throws {
        let removal = try #require(made.authority().nextPolicy { $0.roles["editor"] = [$0.owner] })
        #expect(removal.removed == [made.ann.account] && removal.needsBase)
        let base = made.baseline(by: "o1")
        let second = made.policy(after: made.first) { policy in
            policy = removal.policy
            policy.base = base
        }
        var authority = made.authority()
        #expect(authority.policy == made.first)
        #expect(authority.refusal(of: "template", made.first, by: "a1", made.ann.id) == nil)
        #expect(authority.insert([], baselines: [base]).rebuilds == [.init(domain: .roles, base: base)])
        #expect(authority.policy == second)
        #expect(authority.refusal(of: "template", made.first, by: "a1", made.ann.id) == .cut)
        #expect(authority.refusal(of: "template", second, by: "a1", made.ann.id) == .role("editor"))
        #expect(authority.refusal(of: "score", owner: made.ann.account, second, by: "a1", made.ann.id) == nil)

        // Given back, the role counts from the policy that gives it.
        let third = made.policy(after: second) { $0.roles["editor"]?.insert(made.ann.account) }
        #expect(authority.insert([.policy(third)]).rebuilds == [])
        #expect(authority.refusal(of: "template", third, by: "a1", made.ann.id) == nil)
        #expect(authority.refusal(of: "template", made.first, by: "a1", made.ann.id) == .cut)
    }

    @Test("P-12: a device that a stolen device enrolled writes until the account's next statement, and never after it, under whatever name")
    func sibling() throws {
        let sibling = made.enrolment(of: "x1", by: "a2", certificate: made.ann.id, under: made.ann)
        let second = made.enrolment(of: "x2", by: "x1", certificate: sibling.id, under: made.ann)
        let taken = made.enrolment(of: "a1", by: "a2", certificate: made.ann.id, under: made.ann, key: "thief")
        var authority = made.authority()
        for (name, certificate) in [("x1", sibling.id), ("x2", second.id)] {
            #expect(authority.refusal(of: "score", owner: made.ann.account, made.first, by: name, certificate) == nil)
            #expect(authority.refusal(of: "template", made.first, by: name, certificate) == nil)
        }
        #expect(authority.judgement(of: taken.id) == .refused(.nameTaken(StatementFixture.peer("a1"))))

        // Ann keeps a1, and a device of her own whose name the thief has taken for a key of its own.
        let named = made.enrolment(of: "a3", by: "a1", certificate: made.ann.id, under: made.ann)
        let stolen = made.enrolment(of: "a3", by: "a2", certificate: made.ann.id, under: made.ann, key: "thief")
        let base = made.baseline(by: "a1")
        let statement = made.statement(after: made.ann, ["a1", "a3"], base: base, by: "ann")
        authority = made.authority(baselines: [base])
        #expect(authority.statement(of: made.ann.account) == statement)
        let draft = try #require(authority.nextPolicy())
        #expect(draft.policy.pins[made.ann.account] == statement.id && draft.removed == [made.ann.account])
        let rolesBase = made.baseline(by: "o1")
        let policy = made.policy(after: made.first) { policy in
            policy = draft.policy
            policy.base = rolesBase
        }
        authority = made.authority(baselines: [base, rolesBase])
        #expect(authority.policy == policy)
        for (name, certificate) in [("a2", made.ann.id), ("x1", sibling.id), ("x2", second.id), ("a3", stolen.id)] {
            #expect(authority.refusal(of: "score", owner: made.ann.account, made.first, by: name, certificate) == .removed)
            #expect(authority.refusal(of: "template", made.first, by: name, certificate) == .cut)
        }
        for (name, certificate) in [("a1", made.ann.id), ("a3", named.id)] {
            #expect(authority.refusal(of: "score", owner: made.ann.account, made.first, by: name, certificate) == nil)
            #expect(authority.refusal(of: "template", made.first, by: name, certificate) == nil)
        }
    }

    @Test("a pin that the account has not signed gives nothing")
    func pins() {
        let policy = made.policy(after: made.first) { $0.pins[made.ann.account] = made.bob.id }
        let authority = made.authority()
        #expect(authority.policy == policy)
        #expect(authority.refusal(of: "template", policy, by: "a1", made.ann.id) == .unknownDevice)
        #expect(authority.refusal(of: "template", policy, by: "b1", made.bob.id) == .unknownDevice)
        #expect(authority.refusal(of: "template", made.first, by: "a1", made.ann.id) == nil)
    }

    @Test("with registrars, logs of an account wait for a registrar's word; the accounts that the steward pins need none")
    func admission() {
        let closed = made.policy(after: made.first) { $0.admission = .registrars([StatementFixture.key("registrar")]) }
        let forged = made.sign(Admittance(account: made.bob.account, policy: closed.id), by: "thief")
        let early = made.sign(Admittance(account: made.bob.account, policy: made.first.id), by: "registrar")
        var authority = made.authority()
        #expect(authority.isAdmitted(made.ann.account) && !authority.isAdmitted(made.bob.account), "\(forged) and \(early) admit nobody")
        #expect(authority.verdict(closed, by: "b1", made.bob.id, isCurated: false) == .waits(for: [.admittance(made.bob.account)]))
        let warrant = made.warrant(
            of: made.baseline(by: "b1"), in: .slice(made.bob.account), under: made.bob.id, certificate: made.bob.id, by: "b1")
        _ = authority.insert([.warrant(warrant)])
        #expect(authority.standing(of: warrant) == .waits(for: [.admittance(made.bob.account)]))
        let admittance = made.sign(Admittance(account: made.bob.account, policy: closed.id), by: "registrar")
        #expect(authority.insert([.admittance(admittance)]).judgesAgain)
        #expect(authority.refusal(of: "score", owner: made.bob.account, closed, by: "b1", made.bob.id) == nil)
        #expect(authority.standing(of: warrant) == .counts)
    }

    @Test("a policy that closes admission takes away what accounts without a registrar's word have contributed")
    func closing() {
        var authority = made.authority()
        let closed = made.policy(after: made.first) { $0.admission = .registrars([StatementFixture.key("registrar")]) }
        #expect(authority.insert([.policy(closed)]).rebuilds == [.init(domain: .slice(made.bob.account), base: nil)])
    }
}
