import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// The decisions of moderators, registrars, stewards and owners by the tools, as real processes.
struct PublicDecisionTests {
    private typealias Game = PublicToolTests.Game

    /// Creates an account of a player, and returns it.
    private func account(of player: String, in game: Game) async throws -> String {
        try await game.expect("ubcontrol", ["account", "create", game.identifier, "--at", game.place.string], as: player)
    }

    /// Lets all players exchange until nothing changes, in any order.
    private func settle(_ players: [String], _ game: Game) async throws {
        for player in players + players { _ = try await game.points(player) }
    }

    @Test("P-16: ubcontrol blocks an account and vetoes a record, lists both, and undoes them; who is no moderator is refused with the reason")
    func moderation() async throws {
        try await PublicToolTests().withGame { game in
            let bob = try await account(of: "bob", in: game)
            try await game.expect("scores", ["add", "1"], as: "ann")
            try await game.expect("scores", ["add", "2"], as: "bob")
            try await settle(["ann", "bob"], game)
            let refused = try await game.run("ubcontrol", ["public", "block", game.store("bob"), bob], as: "bob")
            #expect(refused.status == 1 && refused.errors.contains("the role “moderator”"), "\(refused)")
            let table = try await game.run("ubcontrol", ["public", "veto", game.store("ann"), "template/t:x"], as: "ann")
            #expect(table.status == 1 && table.errors.contains("those are score"), "\(table)")
            let list = ["public", "moderation", game.store("ann"), "--json"]
            try await game.expect("ubcontrol", ["public", "block", game.store("ann"), bob, "--reason", "advertises"], as: "ann")
            try await settle(["ann", "bob"], game)
            for player in ["ann", "bob", "eve"] { #expect(try await game.points(player) == ["1"], "\(player)") }
            let listed = try await game.expect("ubcontrol", list, as: "ann")
            #expect(listed.contains("\"kind\":\"account\"") && listed.contains(bob) && listed.contains("advertises"), "\(listed)")
            let held = try await game.expect("ubcontrol", ["store", "held", game.store("eve"), "--json"], as: "eve")
            #expect(held.contains("its account is blocked: advertises"), "\(held)")
            let record = try #require(held.firstMatch(of: /"record":"(score[^"]*)"/)).1
            try await game.expect("ubcontrol", ["public", "block", game.store("ann"), bob, "--undo"], as: "ann")
            try await game.expect("ubcontrol", ["public", "veto", game.store("ann"), String(record)], as: "ann")
            try await settle(["ann", "bob"], game)
            #expect(try await game.points("eve") == ["1"])
            try await game.expect("ubcontrol", ["public", "veto", game.store("ann"), String(record), "--undo"], as: "ann")
            try await settle(["ann", "bob"], game)
            for player in ["ann", "bob", "eve"] { #expect(try await game.points(player) == ["2", "1"], "\(player)") }
            #expect(try await game.expect("ubcontrol", list, as: "ann").isEmpty)
        }
    }

    @Test("an account whose devices are all lost comes back by its key, in a file or on standard input, and its lost device is removed")
    func recovery() async throws {
        try await PublicToolTests().withGame { game in
            let bob = try await account(of: "bob", in: game)
            try await game.expect("scores", ["add", "2"], as: "bob")
            try await settle(["ann", "bob"], game)
            let scopes = game.directory.appending("bob/ubiquity/scopes").appending(game.identifier)
            let kept = game.directory.appending("kept.key")
            try FileManager.default.copyItem(atPath: scopes.appending("identity.key").string, toPath: kept.string)
            let recover = ["account", "recover", game.identifier, "--at", game.place.string, "--key"]
            let wrong = game.directory.appending("wrong.key")
            try Data("not a key\n".utf8).write(to: URL(filePath: wrong.string))
            let refused = try await game.run("ubcontrol", recover + [wrong.string], as: "phone")
            #expect(refused.status == 64 && refused.errors.contains("holds no key"), "\(refused)")
            #expect(try await game.expect("ubcontrol", recover + [kept.string], as: "phone") == bob)
            let again = try await game.run("ubcontrol", recover + [kept.string], as: "phone")
            #expect(again.status == 1 && again.errors.contains("already"), "\(again)")
            let secret = try String(contentsOfFile: kept.string, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(!again.errors.contains(secret) && !again.output.contains(secret))
            for name in ["identity.key", "device.key", "device.json"] {
                let path = game.directory.appending("phone/ubiquity/scopes").appending(game.identifier).appending(name)
                #expect(try FileManager.default.attributesOfItem(atPath: path.string)[.posixPermissions] as? Int == 0o600)
            }
            try await game.expect("scores", ["add", "3"], as: "phone")
            let devices = try await game.expect("ubcontrol", ["account", "devices", game.identifier], as: "phone").split(separator: "\n")
            let lost = try #require(devices.first { !$0.hasSuffix("this device") })
            try await game.expect("ubcontrol", ["account", "revoke", game.store("phone"), String(lost), "--yes"], as: "phone")
            try await settle(["phone", "ann"], game)
            #expect(try await game.expect("ubcontrol", ["account", "devices", game.identifier], as: "phone").split(separator: "\n").count == 1)
            for player in ["ann", "eve"] { #expect(try await game.points(player) == ["3", "2"], "\(player)") }
            let script = packageDirectory.appending("Tools/verify-public").string
            let verified = try await Tool.run("/usr/bin/python3", [script, game.container.string])
            #expect(verified.status == 0, "\(verified.errors)\(verified.output)")
        }
    }

    @Test("accounts contribute once a registrar has admitted them; limits hold on every device; doctor and ubwatch policy tell of it")
    func admissionAndLimits() async throws {
        try await PublicToolTests().withGame { game in
            let bob = try await account(of: "bob", in: game)
            let key = try await game.expect("ubcontrol", ["public", "registrar"], as: "eve")
            #expect(try await game.expect("ubcontrol", ["public", "registrar"], as: "eve") == key)
            try await game.expect("scores", ["add", "1"], as: "ann")
            // Two requests in a row: both are fulfilled, in their order.
            try await game.expect("ubcontrol", ["public", "admission", game.store("ann"), "registrars", "--key", key], as: "ann")
            try await game.expect("ubcontrol", ["public", "limit", game.store("ann"), "--records", "2"], as: "ann")
            try await settle(["ann", "bob"], game)
            let early = try await game.run("scores", ["add", "2"], as: "bob")
            #expect(early.status == 1, "\(early)")
            let owed = try await game.run("ubcontrol", ["doctor", "--json"], as: "bob")
            #expect(owed.output.contains("is not admitted, so nobody shows its records"), "\(owed)")
            let stranger = try await game.run("ubcontrol", ["public", "admit", game.identifier, bob, "--at", game.place.string], as: "bob")
            #expect(stranger.status == 1 && stranger.errors.contains("no key of a registrar"), "\(stranger)")
            try await game.expect("ubcontrol", ["public", "admit", game.identifier, bob, "--at", game.place.string], as: "eve")
            try await settle(["ann", "bob"], game)
            for points in [2, 3, 4] { try await game.expect("scores", ["add", "\(points)"], as: "bob") }
            try await settle(["ann", "bob"], game)
            let shown = try await game.points("ann")
            #expect(shown.count == 3, "\(shown)")
            for player in ["bob", "late"] { #expect(try await game.points(player) == shown, "\(player)") }
            let policy = try await game.expect("ubwatch", ["policy", game.container.string, "--json"], as: "late")
            #expect(policy.contains("\"records\":2") && policy.contains(key) && policy.contains("\"owesPolicy\":false"), "\(policy)")
            let sound = try await game.run("ubcontrol", ["doctor", "--json"], as: "bob")
            #expect(!sound.output.contains("is not admitted"), "\(sound)")
        }
    }

    @Test("the owner's identity key replaces a lost steward, on another of the owner's devices; without it the request is refused and forgotten")
    func succession() async throws {
        try await PublicToolTests().withGame { game in
            let owner = try await game.expect("ubcontrol", ["account", "devices", game.identifier], as: "ann").prefix { $0 != "~" }
            let code = try await game.expect(
                "ubcontrol", ["account", "enrol", game.identifier, "--at", game.place.string, "--account", String(owner)], as: "phone")
            try await game.expect("ubcontrol", ["account", "admit", game.identifier, code], as: "ann")
            try await game.expect("scores", ["add", "1"], as: "phone")
            _ = try await game.points("ann")
            let bob = try await account(of: "bob", in: game)
            let requests = ["public", "requests", game.store("phone"), "--json"]
            try await game.expect("ubcontrol", ["public", "succeed", game.store("phone"), "--yes"], as: "phone")
            let waiting = try await game.expect("ubcontrol", requests, as: "phone")
            #expect(waiting == #"{"number":1,"request":"make this device the steward"}"#, "\(waiting)")
            try await game.expect("ubcontrol", ["public", "requests", game.store("phone"), "--withdraw", "1"], as: "phone")
            let gone = try await game.run("ubcontrol", ["public", "requests", game.store("phone"), "--withdraw", "1"], as: "phone")
            #expect(gone.status == 64 && gone.errors.contains("No request 1 waits"), "\(gone)")
            try await game.expect("ubcontrol", ["public", "succeed", game.store("phone"), "--yes"], as: "phone")
            _ = try await game.points("phone")
            #expect(try await game.expect("ubcontrol", requests, as: "phone").isEmpty)
            let before = try await game.expect("ubwatch", ["policy", game.container.string, "--json"], as: "bob")
            #expect(before.contains("\"term\":0"), "\(before)")
            let scopes = { (player: String) in game.directory.appending("\(player)/ubiquity/scopes").appending(game.identifier) }
            try FileManager.default.copyItem(
                atPath: scopes("ann").appending("identity.key").string, toPath: scopes("phone").appending("identity.key").string)
            try await game.expect("ubcontrol", ["public", "succeed", game.store("phone"), "--yes"], as: "phone")
            _ = try await game.points("phone")
            let after = try await game.expect("ubwatch", ["policy", game.container.string, "--json"], as: "bob")
            #expect(after.contains("\"term\":1") && after.contains("\"steward\":\"\(code.prefix { $0 != "." })\""), "\(after)")
            // The new steward decides, and the old one does not.
            try await game.expect("ubcontrol", ["public", "grant", game.store("phone"), "moderator", bob], as: "phone")
            try await settle(["phone", "bob"], game)
            try await game.expect("ubcontrol", ["public", "limit", game.store("ann"), "--records", "9"], as: "ann")
            _ = try await game.run("scores", ["list"], as: "ann")
            let last = try await game.expect("ubwatch", ["policy", game.container.string, "--json"], as: "bob")
            #expect(!last.contains("\"records\":9") && last.contains("\"moderator\""), "\(last)")
            let history = try await game.expect("ubwatch", ["policy", game.container.string, "--history"], as: "bob").split(separator: "\n")
            #expect(history.count == 3 && history.last?.hasSuffix("  in effect") == true, "\(history)")
            #expect(history.map { $0.prefix { $0 != "," } } == ["policy 1", "policy 2", "policy 3"], "\(history)")
        }
    }
}
