// What the app says of itself.
extension AppTemplate {
    /// The directory of Ubiquity's programs, as a part of `PATH`; empty if it is unknown.
    private var programs: String {
        if case .clone(let path) = source { "\(path)/.build/debug:" } else { "" }
    }

    var readme: String {
        """
        # \(name.package)

        A list of items on the command line, which syncs between a user's devices with Ubiquity, without a server.

        ```sh
        swift test                      # with simulated devices
        swift run \(name.program) add Milk
        swift run \(name.program) done Milk
        swift run \(name.program) list
        swift run \(name.program) run          # print what other devices change, until Ctrl-C
        ```

        It builds on Debian with Swift 6.2 or newer, `libsqlite3-dev` and `libssl-dev`.

        | file | content |
        |---|---|
        | `Sources/\(name.storeModule)/Item.swift` | the record, as GRDB keeps it |
        | `Sources/\(name.storeModule)/ItemStore.swift` | the migrator, the tables that sync, and how the store is opened |
        | `Sources/\(name.program)` | the program |
        | `Tests/\(name.testModule)/SyncTests.swift` | what two devices see: additions, concurrent changes, a deleted container |

        ## Two devices on this machine

        Two directories stand for two devices, and a third for the one that a synchroniser keeps equal on both. `ubcontrol` is a program
        of Ubiquity: `swift build` in a clone of it makes `.build/debug/ubcontrol`.

        ```sh
        swift build
        export PATH="$PWD/.build/debug:\(programs)$PATH"
        desk() { XDG_DATA_HOME=/tmp/\(name.program)/desk "$@"; }
        phone() { XDG_DATA_HOME=/tmp/\(name.program)/phone "$@"; }
        mkdir -p /tmp/\(name.program)/shared
        desk ubcontrol sign-in alice --containers /tmp/\(name.program)/shared
        phone ubcontrol sign-in alice --containers /tmp/\(name.program)/shared
        desk \(name.program) add Milk
        phone \(name.program) list
        ```

        ## Real devices

        On each device, `ubcontrol setup syncthing`, `ubcontrol setup shared` or `ubcontrol setup cloud` connects it with the user's other
        devices; `ubcontrol doctor` finds out why a device does not sync. The app does not change.

        ## Before you publish it

        - Its container is `\(identifier)`. Choose an identifier with a domain that is yours, in `ItemStore.swift`, before anyone uses the app.
        - A new version of the schema is a new migration. A new table syncs if it is declared in `ItemStore.schema`.
        - The manifest refers to Ubiquity as `\(source.dependency)`.

        """
    }
}
