import ArgumentParser

/// The exit statuses of `ubwatch`'s commands, in one place; ``table`` stands in its help.
enum WatchExit {
    /// What was to be read cannot be, or `verify` found a fault or a gap.
    static let failure = ExitCode(1)
    /// There is no such container or content, or a log's bytes are not those that its name says.
    static let notThere = ExitCode(2)
    /// The container is gone: it has been wiped, or is not there any more.
    static let gone = ExitCode(3)
    /// What `wait` waits for was not so in time.
    static let timedOut = ExitCode(4)
    /// `conflicts` found something.
    static let troubles = ExitCode(5)

    static let table = """
        EXIT STATUS
        0   done; of wait: it is so; of verify and conflicts: nothing was found
        1   it cannot be read; of verify: there is a fault or a gap
        2   of the live view and verify: no such container or content; of log: the bytes are not those that the name says
        3   the container is gone: wiped, or not there any more (status, peers, conflicts, wait)
        4   of wait: it was not so in time
        5   of conflicts: something is held, quarantined, kept or in conflict
        64  wrong usage
        """
}
