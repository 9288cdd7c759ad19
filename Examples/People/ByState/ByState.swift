import ArgumentParser
import GRDB
import PeopleStore
import SystemPackage
import Ubiquity

/// Counts the people in each state: another program that uses the shared data.
@main
struct ByState: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "people-by-state", abstract: "Count the people of each state, from the data of the program “people”.")

    @Option(name: .long, help: ArgumentHelp("The device home.", valueName: "dir"))
    var home: String?

    func run() async throws {
        let store = try await PeopleStore.open(home: home.map { FilePath($0) })
        let counts = try await store.read { db in
            try Row.fetchAll(
                db,
                sql:
                    "SELECT name, (SELECT count(*) FROM person WHERE person.state = state.code) AS count FROM bundled.state WHERE count > 0 ORDER BY name"
            ).map { "\($0["name"] as String)  \($0["count"] as Int)" }
        }
        for line in counts { print(line) }
        try await store.close()
    }
}
