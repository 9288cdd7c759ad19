import SyncthingStatus
import SystemPackage
import Testing
import UbiquityContainers

/// What is there, and which steps remain.
struct SetupPlanTests {
    private static let own = DeviceIdentifier(bytes: Array(repeating: 1, count: 32))!
    private static let other = DeviceIdentifier(bytes: Array(repeating: 2, count: 32))!
    private static let alice = try! AccountName("alice")
    private static let found = SyncthingConfiguration(address: "http://127.0.0.1:8384", key: "key")
    private static let root: FilePath = "/data/Ubiquity"

    private static var code: PairingCode {
        PairingCode(device: other, secret: Array(repeating: 7, count: 10), account: alice, folder: "ubiquity-alice")
    }

    private static func wish(join: Bool = false, _ change: (inout SetupWish) -> Void = { _ in }) -> SetupWish {
        var wish = SetupWish(account: alice, root: root, deviceName: "host")
        if join { wish.join = code }
        change(&wish)
        return wish
    }

    /// A device on which everything has been done.
    private static func done(join: Bool = false, _ change: (inout SetupFacts, inout SetupFacts.Answer) -> Void = { _, _ in }) -> SetupFacts {
        var facts = SetupFacts(home: "/home/a/.local/share/ubiquity", hostName: "host")
        (facts.account, facts.accountRoot, facts.root) = (alice, root, .directory(isWritable: true))
        (facts.hasRule, facts.hasAccountDirectory, facts.configured, facts.found) = (true, true, found, found)
        var answer = SetupFacts.Answer(version: "v1.19.2", device: own, name: "host")
        answer.folders = [.init(id: "ubiquity-alice", label: "Ubiquity alice", path: root, others: join ? [other.description] : [])]
        if join {
            answer.devices = [.init(id: other.description)]
            (answer.connected, answer.holders) = ([other.description], [other.description])
        }
        change(&facts, &answer)
        if facts.syncthing == .missing, facts.found != nil { facts.syncthing = .running(answer) }
        return facts
    }

    private static func names(_ wish: SetupWish, _ facts: SetupFacts) throws -> [String] {
        try SetupPlan(for: wish, given: facts).steps.map { String("\($0)".prefix { $0 != "(" }) }
    }

    @Test("T-47: a device on which everything is done has no step left, as the first and as the one that joins")
    func nothing() throws {
        #expect(try SetupPlan(for: Self.wish(), given: Self.done()).steps.isEmpty)
        #expect(try SetupPlan(for: Self.wish(join: true), given: Self.done(join: true)).steps.isEmpty)
    }

    @Test("T-47: each thing that is missing is one step, and everything is missing in the order in which it is made")
    func steps() throws {
        typealias Change = (inout SetupFacts, inout SetupFacts.Answer) -> Void
        let cases: [(steps: [String], change: Change)] = [
            (["makeSyncthing", "startSyncthing"], { facts, _ in facts.found = nil }),
            (["startSyncthing"], { facts, _ in facts.syncthing = .stopped }),
            (
                ["makeRoot", "writeRule", "makeAccountDirectory", "addFolder"],
                { facts, answer in (facts.root, facts.hasRule, facts.hasAccountDirectory, answer.folders) = (.nothing, false, false, []) }
            ),
            (["writeRule"], { facts, _ in facts.hasRule = false }),
            (["signIn"], { facts, _ in facts.account = nil }),
            (["signIn"], { facts, _ in (facts.account, facts.accountRoot) = (nil, nil) }),
            (["configure"], { facts, _ in facts.configured = nil }),
            (["configure"], { facts, _ in facts.configured?.key = "former" }),
            (["configure"], { facts, _ in facts.transport = "directory" }),
            (["makeAccountDirectory"], { facts, _ in facts.hasAccountDirectory = false }),
            (["nameDevice"], { _, answer in answer.name = "" }),
            ([], { _, answer in answer.name = "a name of the user's" }),
            (["addFolder"], { _, answer in answer.folders = [] }),
            (["resumeFolder"], { _, answer in answer.folders[0].isPaused = true }),
            // A folder of the user's with this directory is used as it is.
            ([], { _, answer in answer.folders[0].id = "abcde-fghij" }),
            // Another one beside it does not matter.
            ([], { _, answer in answer.folders.append(.init(id: "default", path: "/data/Sync", others: [Self.other.description])) }),
        ]
        for (index, each) in cases.enumerated() {
            #expect(try Self.names(Self.wish(), Self.done(each.change)) == each.steps, "case \(index)")
        }
        let all: [String] = try Self.names(
            Self.wish(join: true),
            Self.done(join: true) { facts, answer in
                (facts.account, facts.accountRoot, facts.root, facts.hasRule, facts.configured) = (nil, nil, .nothing, false, nil)
                (answer.folders, answer.devices, answer.connected, answer.holders) = ([], [], [], [])
            })
        #expect(all == ["makeRoot", "writeRule", "signIn", "configure", "nameDevice", "addFolder", "addDevice", "shareFolder"])
        var named = Self.wish()
        named.deviceName = "laptop"
        #expect(try Self.names(named, Self.done()) == ["keepDeviceName", "nameDevice"])
    }

    @Test("T-47: a device that joins carries its proof until both see each other, and never afterwards")
    func proof() throws {
        let proof = PairingProof(of: Self.code, by: Self.own)
        let (name, label) = (proof.tagged("host"), proof.tagged("Ubiquity alice"))
        let waiting = Self.done(join: true) { _, answer in answer.holders = [] }
        #expect(try SetupPlan(for: Self.wish(join: true), given: waiting).steps == [.nameDevice(name), .labelFolder("ubiquity-alice", label: label)])
        let carrying = Self.done(join: true) { _, answer in (answer.holders, answer.name, answer.folders[0].label) = ([], name, label) }
        #expect(try SetupPlan(for: Self.wish(join: true), given: carrying).steps.isEmpty)
        let seen = Self.done(join: true) { _, answer in (answer.name, answer.folders[0].label) = (name, label) }
        #expect(
            try SetupPlan(for: Self.wish(join: true), given: seen).steps
                == [.nameDevice("host"), .labelFolder("ubiquity-alice", label: "Ubiquity alice")])
        let paused = Self.done(join: true) { _, answer in answer.devices[0].isPaused = true }
        #expect(try Self.names(Self.wish(join: true), paused) == ["resumeDevice"])
        // What has joined another device meanwhile is not renamed by its own code.
        let both = Self.done { _, answer in answer.name = name }
        #expect(try SetupPlan(for: Self.wish(), given: both).steps.isEmpty)
    }

    @Test("T-46: what must not be shared, or cannot be, is refused in one line with the remedy")
    func refusals() throws {
        typealias Change = (inout SetupFacts, inout SetupFacts.Answer) -> Void
        let cases: [(words: [String], join: Bool, change: Change)] = [
            (["bob is signed in", "--switch-account"], false, { facts, _ in facts.account = try! AccountName("bob") }),
            (["lie in /elsewhere", "leave out --containers"], false, { facts, _ in facts.accountRoot = "/elsewhere" }),
            (["cannot be written", "owner and mode"], false, { facts, _ in facts.root = .directory(isWritable: false) }),
            (["is not a directory", "name another"], false, { facts, _ in facts.root = .unusable }),
            (["contains the device home", "--containers"], false, { facts, _ in facts.home = "/data/Ubiquity/home" }),
            (
                ["lies in Syncthing's folder default, /data", "--containers"], false,
                { _, answer in answer.folders = [.init(id: "default", path: "/data")] }
            ),
            (
                ["contains Syncthing's folder inner", "--containers"], false,
                { _, answer in answer.folders.append(.init(id: "inner", path: "/data/Ubiquity/x")) }
            ),
            (
                ["has the folder ubiquity-alice in /other", "--containers"], false,
                { _, answer in answer.folders = [.init(id: "ubiquity-alice", path: "/other")] }
            ),
            (["is Syncthing's folder mine", "the other device shares ubiquity-alice"], true, { _, answer in answer.folders[0].id = "mine" }),
            (["type receiveonly", "Send & Receive"], false, { _, answer in answer.folders[0].type = "receiveonly" }),
            (
                ["folder mine with Bob", "--share-contents"], false,
                { _, answer in
                    answer.folders = [.init(id: "mine", path: Self.root, others: [Self.other.description])]
                    answer.devices = [.init(id: Self.other.description, name: "Bob")]
                }
            ),
            (
                ["holds Letters and 1 more", "--share-contents"], false,
                { facts, answer in (facts.strangers, answer.folders) = (["Letters", "Pictures"], []) }
            ),
        ]
        for (index, each) in cases.enumerated() {
            let facts = Self.done(join: each.join, each.change)
            do {
                let plan = try SetupPlan(for: Self.wish(join: each.join), given: facts)
                Issue.record("case \(index): \(plan)")
            } catch {
                for words in each.words { #expect(error.description.contains(words), "case \(index): \(error)") }
                #expect(!error.description.contains("\n"))
            }
        }
        var same = Self.wish(join: true)
        same.join?.device = Self.own
        #expect(throws: SetupError("This code is from this device; give it to another one: ubcontrol setup join CODE", isUsage: true)) {
            try SetupPlan(for: same, given: Self.done())
        }
    }

    @Test("T-46: what is refused is done where the user asks for it by the option that the refusal names")
    func consent() throws {
        let other = Self.done { facts, _ in (facts.account, facts.accountRoot) = (try! AccountName("bob"), nil) }
        #expect(try Self.names(Self.wish { $0.switchesAccount = true }, other) == ["signIn"])
        let contents = Self.done { facts, answer in (facts.strangers, answer.folders) = (["Letters"], []) }
        #expect(try Self.names(Self.wish { $0.sharesContents = true }, contents) == ["addFolder"])
        let shared = Self.done { _, answer in answer.folders = [.init(id: "mine", path: Self.root, others: [Self.other.description])] }
        #expect(try Self.names(Self.wish { $0.sharesContents = true }, shared).isEmpty)
        // A folder that setup has added may be shared with any number of devices.
        let made = Self.done { facts, answer in
            facts.madeFolder = "mine"
            answer.folders = [.init(id: "mine", path: Self.root, others: [Self.other.description])]
        }
        #expect(try Self.names(Self.wish(), made).isEmpty)
    }
}
