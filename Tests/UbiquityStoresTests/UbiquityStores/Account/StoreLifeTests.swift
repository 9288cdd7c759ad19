import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import UbiquityStores

/// The state machine of a store's life: every state that can be reached with two accounts, every event in it, and every pair of events in both orders.
struct StoreLifeTests {
    private static let accounts = [try! AccountName("alice"), try! AccountName("bob")]
    private let alice = accounts[0]
    private let bob = accounts[1]

    /// What can happen to a life.
    private enum Event: Hashable {
        case identify(AccountName?), gather(AccountName), scatter(AccountName), complete, answer(Bool), fail, retry
    }

    private static let events: [Event] =
        [.identify(nil), .complete, .answer(true), .answer(false), .fail, .retry]
        + accounts.flatMap { [Event.identify($0), .gather($0), .scatter($0)] }

    private func happen(_ event: Event, to life: inout StoreLife) {
        switch event {
        case .identify(let account): life.identify(account)
        case .gather(let account): life.gather(account)
        case .scatter(let account): life.scatter(account)
        case .complete: if let step = life.step { life.complete(step) }
        case .answer(let joins): if case .ask(let passage) = life.step { life.answer(passage, joins: joins) }
        case .fail: life.fail()
        case .retry: life.retry()
        }
    }

    /// Does all that a life says, as if nothing failed; the passages that were told, in order.
    private func live(_ life: inout StoreLife) -> [StoreLife.Passage] {
        var told: [StoreLife.Passage] = []
        life.retry()
        while let step = life.step {
            if case .ask(let passage) = step { life.answer(passage, joins: true) }
            if case .tellDidChange(let passage) = step { told.append(passage) }
            life.complete(step)
        }
        return told
    }

    /// Every life that can come of the beginnings.
    private func all() -> Set<Reached> {
        var (reached, next): (Set<Reached>, [StoreLife]) = ([], [])
        for account in [nil] + Self.accounts.map({ Optional($0) }) {
            for gathered in [[], [alice], [bob], [alice, bob]] as [Set<AccountName>] {
                for place in [nil, .local] + Self.accounts.flatMap({ [StoreTransition.Place.fallback($0), .account($0)] }) {
                    next.append(StoreLife(at: place, account: account, gathered: gathered))
                }
            }
        }
        while let life = next.popLast() {
            guard reached.insert(Reached(life)).inserted else { continue }
            for event in Self.events {
                var after = life
                happen(event, to: &after)
                next.append(after)
            }
        }
        return reached
    }

    /// A life, by what it consists of.
    private struct Reached: Hashable {
        let life: StoreLife
        init(_ life: StoreLife) { self.life = life }
        func hash(into hasher: inout Hasher) {
            hasher.combine(life.place)
            hasher.combine(life.account)
            hasher.combine(life.gathered)
            hasher.combine(life.step)
        }
    }

    private func goal(_ life: StoreLife) -> StoreTransition.Place {
        guard let account = life.account else { return .local }
        return life.gathered.contains(account) ? .account(account) : .fallback(account)
    }

    @Test("From every state, and after any two events in it, a store that goes on ends where it is to be, and is told each change of file once")
    func ends() {
        let states = all()
        #expect(states.count > 500)
        for state in states {
            for first in Self.events {
                for second in Self.events {
                    var life = state.life
                    happen(first, to: &life)
                    happen(second, to: &life)
                    var before = life.place
                    var passages = live(&life)
                    // One that had been swapped was on its way to being told.
                    if let told = passages.first, told.from != before, told.to == before { passages.removeFirst() }
                    for passage in passages {
                        #expect(passage.from == before)
                        before = passage.to
                    }
                    #expect(life.step == nil && life.place == goal(life) && life.place == before)
                }
            }
        }
    }

    @Test("A change of file is told before and after, with nothing between but the swap, whatever else comes to be known")
    func order() {
        for state in all() {
            for event in Self.events {
                var life = state.life
                happen(event, to: &life)
                switch (state.life.step, life.step) {
                case (.tellWillChange(let passage), let step):
                    #expect(step == (event == .complete ? .swap(passage) : state.life.step))
                    #expect(life.place == state.life.place)
                case (.swap(let passage), let step):
                    #expect(step == (event == .complete ? .tellDidChange(passage) : state.life.step))
                    #expect(life.place == (event == .complete ? passage.to : passage.from))
                case (.tellDidChange(let passage), let step):
                    #expect(event == .complete || step == state.life.step)
                    #expect(life.place == passage.to)
                default: #expect(life.place == state.life.place)
                }
            }
        }
    }

    @Test("What is learnt of an account is the same in either order, for whichever account")
    func commutes() {
        for state in all() {
            for account in Self.accounts {
                for gathered in Self.accounts {
                    var (left, right) = (state.life, state.life)
                    left.identify(account)
                    left.gather(gathered)
                    right.gather(gathered)
                    right.identify(account)
                    _ = live(&left)
                    _ = live(&right)
                    #expect(left == right)
                }
            }
        }
    }

    @Test(
        "Only what was saved while nobody was signed in, if that is answered so, and what an account's own fallback holds is joined; never another account's"
    )
    func joins() {
        for state in all() {
            if case .ask(let passage) = state.life.step {
                for joins in [false, true] {
                    var life = state.life
                    life.answer(passage, joins: joins)
                    #expect(life.step == .prepare(StoreLife.Passage(from: .local, to: passage.to, joins: joins)))
                }
            }
            guard case .prepare(let passage) = state.life.step else { continue }
            switch (passage.from, passage.to) {
            case (.local, .fallback), (.local, .account): break
            case (.fallback(let old), .account(let new)) where old == new: #expect(passage.joins)
            default: #expect(!passage.joins)
            }
        }
    }

    @Test("A question is taken back when it is none any more, and its late answer changes nothing")
    func takenBack() {
        var life = StoreLife(account: nil, gathered: [])
        life.identify(alice)
        guard case .ask(let passage) = life.step else {
            Issue.record("nothing is asked")
            return
        }
        life.identify(nil)
        #expect(life.step == nil && life.place == .local)
        life.answer(passage, joins: true)
        #expect(life.step == nil)
        life.identify(bob)
        #expect(life.step == .ask(StoreLife.Passage(from: .local, to: .fallback(bob))))
    }

    @Test("S-059: a passage's kind says what it comes of")
    func kinds() {
        func kind(_ from: StoreTransition.Place, _ to: StoreTransition.Place) -> StoreTransition.Kind { StoreLife.Passage(from: from, to: to).kind }
        #expect(kind(.local, .fallback(alice)) == .accountAdded)
        #expect(kind(.local, .account(alice)) == .accountAdded)
        #expect(kind(.account(bob), .account(alice)) == .accountAdded)
        #expect(kind(.fallback(alice), .account(alice)) == .initialImportCompleted)
        #expect(kind(.account(alice), .local) == .accountRemoved)
        #expect(kind(.fallback(alice), .local) == .accountRemoved)
    }
}
