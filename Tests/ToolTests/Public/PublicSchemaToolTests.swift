import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// `ubcontrol public audit`, `schema` and `access` as real processes.
struct PublicSchemaToolTests {
    @Test("ubcontrol public audit reads a place by the store's tables, and says what it could compare; a place that is not there is an error")
    func audits() async throws {
        try await PublicToolTests().withGame { game in
            let published = game.directory.appending("www").string
            try await game.expect("scores", ["add", "10"], as: "ann")
            try await game.expect("scores", ["list"], as: "ann")
            try await game.expect("ubcontrol", ["public", "publish", game.store("ann"), "--to", published], as: "ann")
            let words = try await game.expect("ubcontrol", ["public", "audit", game.store("ann"), "--at", published], as: "ann")
            #expect(words.contains("nothing to compare yet"))
            let json = try await game.expect("ubcontrol", ["public", "audit", game.store("ann"), "--at", "file://\(published)", "--json"], as: "ann")
            #expect(json.contains("\"from\":1") && json.contains("\"findings\":[]"))
            let missing = try await game.run("ubcontrol", ["public", "audit", game.store("ann"), "--at", published + "x"], as: "ann")
            #expect(missing.status != 0 && missing.errors.contains("wwwx"), "\(missing.errors)")
        }
    }

    @Test("ubcontrol public schema shows tables and rules; access asks the steward's app, whose policy then has the rule")
    func schema() async throws {
        try await PublicToolTests().withGame { game in
            try await game.expect("scores", ["add", "10"], as: "ann")
            let shown = try await game.run("ubcontrol", ["public", "schema", game.store("ann")], as: "ann")
            #expect(shown.output.contains("score  each account changes the records that name it in player"), "\(shown.output)\(shown.errors)")
            let same = try await game.run("ubcontrol", ["public", "schema", game.store("ann"), "--to", game.store("ann"), "--json"], as: "ann")
            #expect(same.output.contains("\"differences\":["), "\(same.output)\(same.errors)")
            try await game.expect("ubcontrol", ["public", "access", game.store("ann"), "level=role:editor"], as: "ann")
            try await game.expect("scores", ["list"], as: "ann")
            let json = try await game.run("ubcontrol", ["public", "schema", game.store("ann"), "--json"], as: "ann")
            #expect(json.output.contains("\"level\":\"role:editor\""), "\(json.output)\(json.errors)")
            let wrong = try await game.run("ubcontrol", ["public", "access", game.store("ann"), "level"], as: "ann")
            #expect(wrong.status == 64)
        }
    }
}
