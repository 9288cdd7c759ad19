import Foundation
import Glibc
import SystemPackage

/// The changes of a watched tree.
///
/// Every file has a unique name, which identifies it in the reports.
struct WatchingWorkload {
    let root: FilePath
    let outside: FilePath

    /// The names of the files that a tool must report.
    typealias Names = [String]

    /// Waits until an unchanged file has been reported; false if it is not.
    typealias Awaiting = (_ name: String) -> Bool

    /// Creates files in new nested directories, as fast as possible.
    func storm() -> Names {
        var names: Names = []
        for top in 0..<20 {
            var directory = root.appending("storm\(top)")
            for level in 0..<10 {
                make(directory)
                for file in 0..<100 { names.append(write(directory, "s\(top)-\(level)-\(file)")) }
                directory.append("level\(level)")
            }
        }
        return names
    }

    /// Creates nested directories and a file at once.
    func makeParents() -> Names {
        (0..<2000).map { number in
            var directory = root.appending("p\(number)")
            for name in ["a", "b", "c"] {
                make(directory)
                directory.append(name)
            }
            make(directory)
            return write(directory, "mkdirp\(number)")
        }
    }

    /// Moves in populated trees from outside.
    func moveIn() -> Names {
        var names: Names = []
        for tree in 0..<100 {
            for level in ["", "one", "one/two", "one/two/three"] {
                let directory = outside.appending("in\(tree)").appending(level)
                make(directory)
                for file in 0..<5 { names.append(write(directory, "m\(tree)-\(level.count)-\(file)")) }
            }
            rename(outside.appending("in\(tree)").string, root.appending("in\(tree)").string)
        }
        return names
    }

    /// Moves one directory out and another in, then creates a file in the new one.
    func crossed() -> Names {
        for number in 0..<200 {
            make(root.appending("leaves\(number)"))
            make(outside.appending("comes\(number)"))
        }
        usleep(300_000)
        return (0..<200).map { number in
            rename(root.appending("leaves\(number)").string, outside.appending("left\(number)").string)
            rename(outside.appending("comes\(number)").string, root.appending("came\(number)").string)
            return write(root.appending("came\(number)"), "crossed\(number)")
        }
    }

    /// Raises more events than the kernel's queue holds, while the tool is stopped.
    func overflow(_ process: Int32) -> Names {
        let directory = root.appending("flood")
        make(directory)
        usleep(200_000)
        kill(process, SIGSTOP)
        usleep(20_000)
        let names = (0..<20_000).map { write(directory, "o\($0)") }
        kill(process, SIGCONT)
        return names
    }

    /// Deletes and creates again in rounds: a few times at once, and then with a file that stays until it is reported.
    ///
    /// No tool can report a file that disappears before its new directory is watched, least of all on a busy machine.
    /// Such a file is no loss.
    func wipe(_ isReported: Awaiting) -> Names {
        let top = root.appending("wiped")
        return churn(rounds: 100, isReported) { name in
            try? FileManager.default.removeItem(atPath: top.string)
            make(top)
            make(top.appending("sub"))
            write(top.appending("sub"), name)
        }
    }

    /// Deletes and creates the root itself in this way.
    func recreateRoot(_ isReported: Awaiting) -> Names {
        churn(rounds: 100, isReported) { name in
            try? FileManager.default.removeItem(atPath: root.string)
            make(root)
            write(root, name)
        }
    }

    /// Performs a change up to three times at once in each round; the tool must report the last result.
    private func churn(rounds: Int, _ isReported: Awaiting, _ work: (_ name: String) -> Void) -> Names {
        var names: Names = []
        for number in 0..<rounds {
            for time in 0..<(number % 3) { work("passing\(number)-\(time)") }
            names.append("stays\(number)")
            work(names.last!)
            // A missing file is counted by the caller; the next round may still be reported.
            _ = isReported(names.last!)
        }
        return names
    }

    /// Renames one file once in each millisecond, and returns the time of each rename.
    func renames(_ count: Int) -> [(name: String, time: Int64)] {
        var present = root.appending("r")
        write(root, "r")
        usleep(50_000)
        var done: [(String, Int64)] = []
        var next = monotonic()
        for number in 0..<count {
            let name = "r\(number)"
            let target = root.appending(name)
            let (from, to) = (present.string, target.string)
            let time = monotonic()
            rename(from, to)
            done.append((name, time))
            present = target
            next += 1_000_000
            let left = next - monotonic()
            if left > 0 { usleep(UInt32(left / 1000)) }
        }
        return done
    }

    func make(_ directory: FilePath) { mkdir(directory.string, 0o755) }

    @discardableResult
    func write(_ directory: FilePath, _ name: String) -> String {
        let fd = open(directory.appending(name).string, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        if fd >= 0 {
            Glibc.write(fd, "x", 1)
            close(fd)
        }
        return name
    }

    /// Creates a tree of directories with `width` directories in each.
    func makeTree(_ count: Int, width: Int = 50) {
        var made: [FilePath] = [root]
        var position = 0
        while made.count <= count {
            for number in 0..<width where made.count <= count {
                let directory = made[position].appending("d\(number)")
                make(directory)
                made.append(directory)
            }
            position += 1
        }
    }
}
